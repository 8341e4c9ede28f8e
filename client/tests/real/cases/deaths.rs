//! Servers that die while a tool runs.

use std::sync::Arc;

use moorline::model::readiness::Target;
use moorline::model::wire::Channel;
use serde_json::json;

use super::Scene;
use super::protocol::slow_tool;
use crate::caller::{Caller, tool, tool_with_progress};
use crate::house::House;
use crate::installed::Installed;
use crate::program::signal;

/// spec-test: CMD-22, RPT-5, RPT-6
pub async fn a_killed_child_is_noticed_and_replaced(scene: Scene, installed: Arc<Installed>) {
    let house = House::open(&scene, &installed).await;
    let caller = Caller::meet(&house).await;
    // Ten minutes, which no test waits for.
    let (name, arguments) = slow_tool(scene.server, 6_000, 100);
    let calls: Vec<_> = [1, 2]
        .map(|id| tool_with_progress(&json!(id), name, arguments.clone(), &json!(id)))
        .map(|call| caller.send(call))
        .into();
    for call in &calls {
        house.first_progress(call).await;
    }
    let killed = house.pids();
    assert_eq!(killed.len(), 1);
    assert!(signal("KILL", &killed[0]), "it runs");
    for (id, call) in (1..).zip(&calls) {
        let answer = house.reply(call).await.answer;
        assert_eq!((answer.code, answer.source()), (502, "transport_closed"));
        assert_eq!(
            (&*answer.kind, &answer.json["id"]),
            ("jsonrpc_response", &json!(id))
        );
    }
    if let Some(facts) = house.facts() {
        assert!(matches!(
            facts.target(&Channel::main()).health.state(),
            Target::Down { .. }
        ));
    }

    // The new one knows nothing of the session, and the caller is told so. The first calls may come
    // before it may be started.
    let echo = || tool(&json!(3), "echo", json!({ "message": "ahoy" }));
    let mut kinds = Vec::new();
    while kinds.last().is_none_or(|kind| kind == "restart_delayed") {
        assert!(kinds.len() < 1_000, "it is never started");
        let answer = caller.ask(echo()).await.answer;
        assert_eq!(answer.code, 502);
        kinds.push(answer.failure()["transport_error_kind"].clone());
    }
    assert_eq!(kinds.last(), Some(&json!("not_initialized")));
    let caller = Caller::meet(&house).await;
    assert_eq!(caller.ask(echo()).await.text(), "Echo: ahoy");
    let pids = house.pids();
    assert_eq!(pids.len(), 2, "one more");
    assert_eq!(pids[0], killed[0]);
    if let Some(facts) = house.facts() {
        assert!(matches!(
            facts.target(&Channel::main()).health.state(),
            Target::Up { .. }
        ));
    }
    house.close(&[]).await;
}

/// spec-test: CMD-22, RPT-5
pub async fn a_killed_server_is_noticed(scene: Scene, installed: Arc<Installed>) {
    let mut house = House::open(&scene, &installed).await;
    let caller = Caller::meet(&house).await;
    let (name, arguments) = slow_tool(scene.server, 6_000, 100);
    let call = tool_with_progress(&json!(1), name, arguments, &json!(1));
    let call = caller.send(call);
    house.first_progress(&call).await;
    let headers = caller.headers.clone();
    house.http.as_mut().expect("a server over HTTP").kill();
    let answer = house.reply(&call).await.answer;
    assert_eq!((answer.code, answer.source()), (502, "transport_closed"));
    assert_eq!(answer.failure()["upstream_response_received"], true);

    let echo = crate::house::Order {
        message: Some(tool(&json!(2), "echo", json!({ "message": "ahoy" }))),
        headers,
        response_timeout: None,
    };
    let answer = house.reply(&house.order(echo)).await.answer;
    assert_eq!((answer.code, answer.source()), (502, "connect"));
    assert_eq!(
        answer.failure()["transport_error_kind"],
        "connection_refused"
    );
    let facts = house.facts().expect("a client inside");
    assert!(matches!(
        facts.target(&Channel::main()).health.state(),
        Target::Down { .. }
    ));
    house.close(&[]).await;
}
