//! `rediss://`: the server's certificate must be trusted by this host.

use std::{env, fs, process::Command};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tenure_core::Reply;
use tenure_redis::RedisStore;
use tenure_store::ConnectError;

use crate::{
    asking::*,
    server::{Server, free_port},
};

/// Set in the process that trusts the certificate: where the server is.
const URL: &str = "TENURE_TEST_REDISS_URL";

#[tokio::test]
async fn only_a_trusted_certificate_is_accepted() {
    if let Ok(url) = env::var(URL) {
        let store = RedisStore::connect(&url).await.unwrap();
        let reply = ask(&store, &name("nightly"), acquire(1)).await;
        assert!(matches!(reply, Ok(Reply::Granted { .. })), "{reply:?}");
        return;
    }

    let folder = tempfile::tempdir().unwrap();
    let [authority, certificate, key] =
        ["authority.pem", "certificate.pem", "key.pem"].map(|file| folder.path().join(file));
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let server_key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    fs::write(&authority, issuer.pem()).unwrap();
    fs::write(&certificate, params.signed_by(&server_key, &issuer).unwrap().pem()).unwrap();
    fs::write(&key, server_key.serialize_pem()).unwrap();

    let port = free_port().to_string();
    let paths = [&certificate, &key, &authority].map(|path| path.to_str().unwrap());
    let _server = Server::start(&[
        "--tls-port",
        &port,
        "--tls-cert-file",
        paths[0],
        "--tls-key-file",
        paths[1],
        "--tls-ca-cert-file",
        paths[2],
        "--tls-auth-clients",
        "no",
    ]);
    let url = format!("rediss://localhost:{port}");
    let ConnectError::Unreachable(error) = RedisStore::connect(&url).await.unwrap_err() else {
        panic!("something else than the certificate is wrong");
    };
    assert!(error.to_string().contains("certificate"), "{error}");

    // Which certificates a host trusts is read from the environment, which a process with threads
    // cannot change.
    let trusting = Command::new(env::current_exe().unwrap())
        .args(["--exact", "tls::only_a_trusted_certificate_is_accepted", "--nocapture"])
        .env("SSL_CERT_FILE", &authority)
        .env(URL, &url)
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&trusting.stdout);
    assert!(trusting.status.success() && output.contains("1 passed"), "{output}");
}
