//! Certificates and keys in PEM, judged where it is still known which setting gave them.

use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

const NO_CERTIFICATE: &str = "it holds no certificate in PEM";
const BROKEN_CERTIFICATE: &str = "a certificate in it is broken";
const NO_KEY: &str = "it holds no private key in PEM";

/// Whether certificates can be trusted, or what is wrong with them.
pub(super) fn check_trusted(pem: &[u8]) -> Result<(), &'static str> {
    let mut store = RootCertStore::empty();
    for certificate in chain(pem)? {
        store.add(certificate).map_err(|_| BROKEN_CERTIFICATE)?;
    }
    Ok(())
}

/// Whether this is a client's certificate, perhaps with others above it.
pub(super) fn check_chain(pem: &[u8]) -> Result<(), &'static str> {
    chain(pem).map(drop)
}

/// Whether this is a private key.
pub(super) fn check_key(pem: &[u8]) -> Result<(), &'static str> {
    key(pem).map(drop)
}

/// Whether a certificate and a key, each of which was checked, go together.
pub(super) fn check_pair(certificate: &[u8], key: &[u8]) -> Result<(), &'static str> {
    let (chain, key) = (chain(certificate)?, self::key(key)?);
    CertifiedKey::from_der(chain, key, &ring::default_provider())
        .map(drop)
        .map_err(|_| "the client certificate and the client key do not go together")
}

fn chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, &'static str> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err(NO_CERTIFICATE),
        Ok(chain) => Ok(chain),
        Err(_) => Err(BROKEN_CERTIFICATE),
    }
}

fn key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, &'static str> {
    PrivateKeyDer::from_pem_slice(pem).map_err(|_| NO_KEY)
}

#[cfg(test)]
mod tests {
    use rcgen::generate_simple_self_signed;

    use super::*;

    #[test]
    fn what_is_wrong_with_certificates_and_keys_is_told() {
        let make = || {
            let made = generate_simple_self_signed(["a.test".to_owned()]).unwrap();
            (made.cert.pem(), made.signing_key.serialize_pem())
        };
        let ((certificate, key), (_, other)) = (make(), make());
        let begin = "-----BEGIN CERTIFICATE-----\n";
        let cut = certificate.replace("-----END CERTIFICATE-----", "");
        let empty = format!("{begin}AAAA\n-----END CERTIFICATE-----\n");
        for (pem, trusted, chain) in [
            (certificate.as_str(), Ok(()), Ok(())),
            ("no PEM", Err(NO_CERTIFICATE), Err(NO_CERTIFICATE)),
            (&key, Err(NO_CERTIFICATE), Err(NO_CERTIFICATE)),
            (&cut, Err(BROKEN_CERTIFICATE), Err(BROKEN_CERTIFICATE)),
            (&empty, Err(BROKEN_CERTIFICATE), Ok(())),
        ] {
            assert_eq!(check_trusted(pem.as_bytes()), trusted, "{pem}");
            assert_eq!(check_chain(pem.as_bytes()), chain, "{pem}");
        }
        assert_eq!(check_key(key.as_bytes()), Ok(()));
        for pem in ["no PEM", &certificate, ""] {
            assert_eq!(check_key(pem.as_bytes()), Err(NO_KEY), "{pem}");
        }
        let pair = |key: &str| check_pair(certificate.as_bytes(), key.as_bytes());
        assert_eq!(pair(&key), Ok(()));
        assert!(pair(&other).is_err());
    }
}
