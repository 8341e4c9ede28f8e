//! Calls that take too long.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::Scene;
use super::protocol::{assert_finished, slow_tool};
use crate::caller::{Caller, tool, tool_with_progress};
use crate::house::House;
use crate::installed::Installed;

/// spec-test: CMD-18, CMD-19, CMD-20, RPT-4
pub async fn an_expired_call_is_answered_with_silence(scene: Scene, installed: Arc<Installed>) {
    let house = House::open(&scene, &installed).await;
    let caller = Caller::meet(&house).await;
    let (name, arguments) = slow_tool(scene.server, 3, 500);
    let call = tool_with_progress(&json!("a"), name, arguments, &json!("p"));
    let expired = caller.send_within(call, "700ms");
    let never = tool(&json!("b"), "echo", json!({ "message": "late" }));
    let never = caller.send_within(never, "0s");
    // When this one is answered, so is the other: nobody heard of it.
    let (name, arguments) = slow_tool(scene.server, 1, 3_000);
    let reply = caller.ask(tool(&json!("c"), name, arguments)).await;
    assert_finished(&scene, &reply, 1);
    // Its id is free again, and no late answer is taken for this one.
    let reply = caller
        .ask(tool(&json!("a"), "echo", json!({ "message": "ahoy" })))
        .await;
    assert_eq!(reply.text(), "Echo: ahoy");
    let facts = house.facts().expect("a client inside");
    assert_eq!(facts.commands.expired, 2);
    assert_eq!(house.pids().len(), 1, "it is the same process");
    house.close(&[&expired, &never]).await;
}

/// spec-test: CMD-22, RPT-4
pub async fn the_life_of_a_call_ends_in_an_error(scene: Scene, installed: Arc<Installed>) {
    // Long enough for a server to start.
    let max_ttl = Duration::from_secs(6);
    let house = House::open_with(&scene, &installed, Some(max_ttl)).await;
    let caller = Caller::meet(&house).await;
    let (name, arguments) = slow_tool(scene.server, 600, 1_000);
    let token = json!("p");
    let reply = caller
        .ask(tool_with_progress(&json!(1), name, arguments, &token))
        .await;
    let answer = &reply.answer;
    assert_eq!((answer.code, answer.source()), (504, "timeout"));
    assert_eq!(
        (&*answer.kind, &answer.json["id"]),
        ("jsonrpc_response", &json!(1))
    );
    let reported = reply.progress(&token);
    assert_eq!(reported.first(), Some(&1), "it ran meanwhile");
    let reply = caller
        .ask(tool(&json!(1), "echo", json!({ "message": "ahoy" })))
        .await;
    assert_eq!(reply.text(), "Echo: ahoy");
    assert_eq!(house.pids().len(), 1, "it is the same process");
    house.close(&[]).await;
}

/// spec-test: RPT-7
pub async fn a_slow_call_blocks_nobody(scene: Scene, installed: Arc<Installed>) {
    let house = House::open(&scene, &installed).await;
    let caller = Caller::meet(&house).await;
    let (name, arguments) = slow_tool(scene.server, 30, 200);
    let slow = caller.send(tool_with_progress(&json!(0), name, arguments, &json!(0)));
    house.first_progress(&slow).await;
    let quick: Vec<_> = (1..=20)
        .map(|id| {
            caller.send(tool(
                &json!(id),
                "echo",
                json!({ "message": format!("ahoy {id}") }),
            ))
        })
        .collect();
    for (id, call) in (1..).zip(&quick) {
        let reply = house.reply(call).await;
        assert_eq!(reply.text(), format!("Echo: ahoy {id}"));
        assert_eq!(reply.answer.json["id"], id);
    }
    assert_finished(&scene, &house.reply(&slow).await, 30);
    let record = house.close(&[]).await;
    let mut latest_first = record.responses.iter().rev();
    let last = latest_first.find(|one| one.resp_type == "jsonrpc_response");
    let last = last.map(|one| &*one.request_id);
    assert_eq!(last, Some(&*slow), "all others were answered before");
}
