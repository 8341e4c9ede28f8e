//! An encrypted service with a certificate of its own making.

use std::sync::Arc;

use moorline::Settings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, crypto::ring};
use tokio_rustls::server::TlsStream;

use super::settings;

pub const NAME: &str = "tunnels.test";

/// A server with a certificate of its own making, for `localhost` and `tunnels.test`.
pub struct TlsServer {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    pub ca_bundle: Vec<u8>,
}

impl TlsServer {
    pub async fn start(protocol: &str) -> Self {
        let names = ["localhost".to_owned(), NAME.to_owned()];
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        Self {
            listener: TcpListener::bind("127.0.0.1:0").await.unwrap(),
            acceptor: TlsAcceptor::from(Arc::new(config)),
            ca_bundle: made.cert.pem().into_bytes(),
        }
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
}
