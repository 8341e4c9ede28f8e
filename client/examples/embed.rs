//! The client embedded in ten lines: `cargo run --example embed`.
//!
//! Point it at a service with `CONTROL_PLANE_BASE_URL`, `CONTROL_PLANE_TUNNEL_ID` and
//! `CONTROL_PLANE_API_KEY`. Without them it talks to a fake service in this process.
#![allow(clippy::print_stdout, reason = "an example may print")]

use moorline::{ApiKey, ControlPlane, Endpoint, PollerOptions, Settings, TunnelId};
use moorline_fixtures::fake::{FakeConfig, FakeService};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let fake = FakeService::start(FakeConfig::default())?;
    fake.add_tunnel("my-tunnel", "berth-1")?;
    fake.set_corrections(true);
    fake.enqueue(
        "my-tunnel",
        serde_json::json!({"request_id": "1", "command_type": "jsonrpc", "jsonrpc": {}}),
    )?;
    let setting = |name: &str, or: &str| std::env::var(name).unwrap_or_else(|_| or.to_owned());

    // The ten lines.
    let settings = Settings::new(
        Endpoint::parse(&setting("CONTROL_PLANE_BASE_URL", &fake.endpoint()))?,
        TunnelId::new(&setting("CONTROL_PLANE_TUNNEL_ID", "my-tunnel"))?,
        ApiKey::new(&setting("CONTROL_PLANE_API_KEY", "fake-api-key"))?,
    );
    let client = ControlPlane::connect(settings)?;
    let mut poller = client.spawn_poller(PollerOptions::default());
    if let Some(command) = poller.next_command().await {
        println!("received a command of type {}", command.command_type);
    }
    poller.stop().await;

    println!("placed: {:?}", client.placed());
    Ok(())
}
