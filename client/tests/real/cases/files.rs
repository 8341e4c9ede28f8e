//! A server that changes something.

use std::sync::Arc;

use serde_json::json;

use super::Scene;
use crate::caller::{Caller, tool};
use crate::house::House;
use crate::installed::Installed;

pub async fn a_file_is_written_and_read(scene: Scene, installed: Arc<Installed>) {
    let house = House::open(&scene, &installed).await;
    let caller = Caller::meet(&house).await;
    let path = house.files().join("log of the \u{2693} 漢字.txt");
    let content = "wind \"north-west\"\n\tdepth 12 m\u{2028}\u{1f6a2}\n".repeat(1_000);
    let arguments = json!({ "path": path, "content": content });
    let reply = caller.ask(tool(&json!(1), "write_file", arguments)).await;
    assert!(reply.text().starts_with("Successfully wrote"), "{reply:?}");
    assert_eq!(std::fs::read_to_string(&path).expect("the file"), content);
    let reply = caller
        .ask(tool(&json!(2), "read_text_file", json!({ "path": path })))
        .await;
    assert_eq!(reply.text(), content);

    // What it must not touch it refuses, in its own words.
    let outside = json!({ "path": house.folder.join("pids") });
    let reply = caller.ask(tool(&json!(3), "read_text_file", outside)).await;
    assert_eq!(reply.answer.json["result"]["isError"], true, "{reply:?}");
    assert!(reply.text().contains("Access denied"), "{reply:?}");
    house.close(&[]).await;
}
