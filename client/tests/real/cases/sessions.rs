//! Sessions over HTTP, and none over stdio.

use std::sync::Arc;

use serde_json::json;

use super::Scene;
use crate::caller::{Caller, request, tool};
use crate::house::{House, Order};
use crate::installed::Installed;
use crate::servers::Server;

/// spec-test: CMD-22, CMD-23
pub async fn sessions_live_apart_and_end(scene: Scene, installed: Arc<Installed>) {
    let house = House::open(&scene, &installed).await;
    let (first, second) = (Caller::meet(&house).await, Caller::meet(&house).await);
    assert_ne!(first.headers, second.headers);
    let echo = || tool(&json!(1), "echo", json!({ "message": "ahoy" }));
    for caller in [&first, &second] {
        assert_eq!(caller.ask(echo()).await.text(), "Echo: ahoy");
    }

    let left = first.leave().await.answer;
    assert_eq!((left.code, &*left.raw), (200, ""));
    // The status that a server gives for a session that it does not know is its own choice.
    let unknown = match scene.server {
        Server::Python => 404,
        _ => 400,
    };
    let refused = first.ask(echo()).await.answer;
    assert_eq!((refused.code, refused.source()), (unknown, "target_http"));
    assert_eq!(refused.failure()["upstream_status"], unknown);
    assert_eq!(refused.json["id"], 1);
    assert_eq!(first.leave().await.answer.code, unknown);
    assert_eq!(second.ask(echo()).await.text(), "Echo: ahoy");

    // Who names no session has none.
    let order = Order {
        message: Some(request(&json!(2), "tools/list", json!({}))),
        ..Order::default()
    };
    let refused = house.reply(&house.order(order)).await.answer;
    assert_eq!((refused.code, refused.source()), (400, "target_http"));
    assert_eq!(second.leave().await.answer.code, 200);
    house.close(&[]).await;
}

/// spec-test: CMD-26
pub async fn a_pipe_has_no_session_to_end(scene: Scene, installed: Arc<Installed>) {
    let house = House::open(&scene, &installed).await;
    let caller = Caller::meet(&house).await;
    assert!(caller.welcome.answer.headers["Mcp-Session-Id"].is_null());
    let refused = caller.leave().await.answer;
    assert_eq!((refused.code, &*refused.raw), (405, ""));
    let echo = tool(&json!(1), "echo", json!({ "message": "ahoy" }));
    assert_eq!(caller.ask(echo).await.text(), "Echo: ahoy");
    assert_eq!(house.pids().len(), 1);
    house.close(&[]).await;
}
