//! An encrypted service with a certificate of its own making.

use std::sync::Arc;

use moorline::Settings;
use moorline::target::ClientIdentity;
use rcgen::{CertifiedKey, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig, crypto::ring};
use tokio_rustls::server::TlsStream;

use super::settings;

pub const NAME: &str = "tunnels.test";

/// Whom a server that requires certificates of its clients knows.
pub const CLIENT: &str = "client.test";

/// A server with a certificate of its own making, for `localhost` and `tunnels.test`.
pub struct TlsServer {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    pub ca_bundle: Vec<u8>,
    client: Option<ClientIdentity>,
}

impl TlsServer {
    pub async fn start(protocol: &str) -> Self {
        Self::start_with(protocol, None).await
    }

    /// A server that takes only clients with the certificate of [`Self::client_identity`].
    pub async fn start_requiring_clients(protocol: &str) -> Self {
        let client = rcgen::generate_simple_self_signed([CLIENT.to_owned()]).unwrap();
        Self::start_with(protocol, Some(client)).await
    }

    async fn start_with(protocol: &str, client: Option<CertifiedKey<KeyPair>>) -> Self {
        let names = ["localhost".to_owned(), NAME.to_owned()];
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match &client {
            None => builder.with_no_client_auth(),
            Some(client) => {
                let mut roots = RootCertStore::empty();
                roots.add(client.cert.der().clone()).unwrap();
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let mut config = builder
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        Self {
            listener: TcpListener::bind("127.0.0.1:0").await.unwrap(),
            acceptor: TlsAcceptor::from(Arc::new(config)),
            ca_bundle: made.cert.pem().into_bytes(),
            client: client.as_ref().map(identity),
        }
    }

    /// What a client shows to a server that requires it.
    pub fn client_identity(&self) -> ClientIdentity {
        self.client.clone().unwrap()
    }

    /// An identity that no server knows.
    pub fn unknown_identity() -> ClientIdentity {
        identity(&rcgen::generate_simple_self_signed(["other.test".to_owned()]).unwrap())
    }

    pub fn port(&self) -> u16 {
        self.listener.local_addr().unwrap().port()
    }

    /// Settings of a client that does not trust this server yet.
    pub fn settings(&self) -> Settings {
        settings(&format!("https://localhost:{}", self.port()))
    }

    pub async fn accept(&self) -> std::io::Result<TlsStream<TcpStream>> {
        let (socket, _) = self.listener.accept().await?;
        self.acceptor.accept(socket).await
    }

    /// Settings of a client that trusts this server.
    pub fn trusted_settings(&self) -> Settings {
        let mut settings = self.settings();
        settings.ca_bundle = Some(self.ca_bundle.clone());
        settings
    }

    /// Answers one HTTP/1.1 request with a 204 and gives its text.
    pub async fn answer_once(&self) -> String {
        let mut stream = self.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await.unwrap());
        }
        stream
            .write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
            .await
            .unwrap();
        stream.shutdown().await.unwrap();
        String::from_utf8(request).unwrap()
    }

    /// Answers one HTTP/1.1 request with a 200 and this JSON. True when the client named itself.
    pub async fn answer_post(&self, json: &str) -> bool {
        let mut stream = self.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await.unwrap());
        }
        let reply = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{json}",
            json.len()
        );
        stream.write_all(reply.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let certificates = stream.get_ref().1.peer_certificates();
        certificates.is_some_and(|certificates| !certificates.is_empty())
    }
}

fn identity(made: &CertifiedKey<KeyPair>) -> ClientIdentity {
    ClientIdentity {
        certificate: made.cert.pem().into_bytes(),
        key: made.signing_key.serialize_pem().into_bytes(),
    }
}
