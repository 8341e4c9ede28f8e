//! A tunnel that is placed elsewhere while a tool runs.

use std::sync::Arc;

use serde_json::json;

use super::Scene;
use super::protocol::{assert_finished, slow_tool};
use crate::caller::{Caller, tool, tool_with_progress};
use crate::house::{FIRST_PLACE, House};
use crate::installed::Installed;
use crate::record::poll_tokens;

const SECOND_PLACE: &str = "berth-2";

/// spec-test: CMD-6, CMD-7, CMD-30
pub async fn a_call_that_ends_after_a_reassignment(scene: Scene, installed: Arc<Installed>) {
    const STEPS: u32 = 20;
    let house = House::open(&scene, &installed).await;
    let caller = Caller::meet(&house).await;
    let token = json!("progress");
    let (name, arguments) = slow_tool(scene.server, STEPS, 300);
    let slow = caller.send(tool_with_progress(&json!(1), name, arguments, &token));
    house.first_progress(&slow).await;
    house.reassign(SECOND_PLACE).await;
    // Its own answer shows that polls with the new token bring commands.
    let echo = caller.send(tool(&json!(2), "echo", json!({ "message": "ahoy" })));
    let reply = house.reply(&echo).await;
    assert_eq!(
        (reply.text(), &*reply.answer.token),
        ("Echo: ahoy", SECOND_PLACE)
    );

    let reply = house.reply(&slow).await;
    assert_finished(&scene, &reply, STEPS);
    let expected: Vec<_> = (1..=u64::from(STEPS)).collect();
    assert_eq!(reply.progress(&token), expected);
    assert_eq!(reply.answer.token, FIRST_PLACE);
    assert!(reply.notes.iter().all(|note| note.token == FIRST_PLACE));
    let record = house.close(&[]).await;

    let polls = poll_tokens(&record);
    assert_eq!(polls[0], None, "it starts without a token");
    assert_eq!(polls.last(), Some(&Some(SECOND_PLACE.to_owned())));
    let order: Vec<_> = record
        .responses
        .iter()
        .map(|one| &*one.request_id)
        .collect();
    let moved = order
        .iter()
        .position(|id| *id == echo)
        .expect("the second call");
    let later = order[moved..].iter().filter(|id| **id == slow).count();
    assert!(
        later >= 2,
        "a notification and the answer came after the move: {order:?}"
    );
}
