//! What both ends say to each other.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Scene;
use crate::caller::{Caller, VERSION, request, tool, tool_with_progress};
use crate::direct;
use crate::house::House;
use crate::installed::Installed;
use crate::record::Reply;
use crate::servers::{Server, Transport};

/// spec-test: CMD-10, CMD-21, CMD-23
pub async fn a_conversation(scene: Scene, installed: Arc<Installed>) {
    let house = House::open(&scene, &installed).await;
    let caller = Caller::meet(&house).await;
    let welcome = &caller.welcome.answer;
    let result = &welcome.json["result"];
    assert_eq!(result["serverInfo"]["name"], scene.server.name());
    assert_eq!(result["protocolVersion"], VERSION);
    assert_eq!(welcome.kind, "jsonrpc_response");
    let content_type = match scene.transport {
        Transport::Http => "text/event-stream",
        Transport::HttpJson | Transport::Stdio => "application/json",
    };
    assert_eq!(welcome.headers["Content-Type"], json!([content_type]));

    let listed = caller
        .ask(request(&json!(2), "tools/list", json!({})))
        .await;
    let tools = listed.answer.json["result"]["tools"]
        .as_array()
        .expect("tools");
    let names: Vec<_> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    let (name, arguments, expected) = match scene.server {
        Server::Filesystem => ("list_directory", json!({ "path": house.files() }), ""),
        _ => ("echo", json!({ "message": "ahoy" }), "Echo: ahoy"),
    };
    assert!(names.contains(&name), "{names:?}");
    assert!(names.len() > 2, "{names:?}");
    let reply = caller.ask(tool(&json!("three"), name, arguments)).await;
    assert_eq!((reply.answer.code, reply.text()), (200, expected));
    assert_eq!(reply.answer.json["id"], "three");
    let pids = house.pids();
    assert_eq!(pids.len(), 1, "one process for all of it");
    house.close(&[]).await;
}

/// spec-test: CMD-21
pub async fn answers_and_errors_are_the_bytes_of_the_server(
    scene: Scene,
    installed: Arc<Installed>,
) {
    let house = House::open(&scene, &installed).await;
    let large = large_text();
    let wrong_arguments = match scene.server {
        Server::Filesystem => tool(&json!(6), "write_file", json!({ "path": 1 })),
        _ => tool(&json!(6), "echo", json!({ "message": { "not": "a text" } })),
    };
    let mut requests = vec![
        request(&json!(1), "tools/list", json!({})),
        request(&json!("ping \u{2693}"), "ping", json!({})),
        request(&json!(3), "no/such/method", json!({})),
        request(&json!(4), "tools/call", json!({ "name": 4 })),
        tool(&json!(5), "no-such-tool", json!({})),
        wrong_arguments,
    ];
    match scene.server {
        Server::Filesystem => {
            let path = house.files().join("large");
            std::fs::write(&path, &large).unwrap();
            requests.push(tool(&json!(7), "read_text_file", json!({ "path": path })));
        }
        Server::Everything => {
            requests.push(tool(&json!(7), "echo", json!({ "message": large })));
            requests.push(tool(&json!(8), "get-tiny-image", json!({})));
            requests.push(request(&json!(9), "prompts/list", json!({})));
        }
        Server::Python => {
            requests.push(tool(&json!(7), "echo", json!({ "message": large })));
            requests.push(tool(&json!(8), "fail", json!({})));
        }
    }
    let expected = match &house.http {
        Some(server) => direct::over_http(server.url(), &requests).await,
        None => {
            let words = scene
                .server
                .words(scene.transport, &installed, &house.files());
            direct::over_stdio(&words, &requests).await
        }
    };
    assert_eq!(expected.len(), requests.len());
    let caller = Caller::meet(&house).await;
    let mut replies = Vec::new();
    for (request, expected) in requests.into_iter().zip(&expected) {
        let reply = caller.ask(request).await;
        assert_eq!(reply.answer.raw, *expected);
        assert_eq!(reply.answer.code, 200);
        assert!(reply.methods().is_empty(), "{reply:?}");
        replies.push(reply);
    }
    for reply in &replies[2..4] {
        assert!(reply.answer.json["error"]["code"].is_i64(), "{reply:?}");
    }
    for reply in &replies[4..6] {
        assert_eq!(reply.answer.json["result"]["isError"], true, "{reply:?}");
    }
    assert!(replies[6].text().ends_with(&large));
    assert!(replies[6].answer.raw.len() > 100_000);
    house.close(&[]).await;
}

/// Some 100 KB of what is easily broken: quotation marks, controls, line breaks of several kinds, characters of one
/// to four bytes.
fn large_text() -> String {
    let ascii = "Ahoy \"\\/ \u{8}\t\r\n \u{0} data: {\"id\":7}";
    let wide = "\u{85}\u{2028}\u{2029}\u{feff} é ß 漢字 \u{2693} \u{1f6a2}";
    format!("{ascii} {wide} ").repeat(1_400)
}

/// spec-test: CMD-24
pub async fn progress_comes_before_the_answer(scene: Scene, installed: Arc<Installed>) {
    let house = House::open(&scene, &installed).await;
    let caller = Caller::meet(&house).await;
    for token in [json!("a token"), json!(7)] {
        let (name, arguments) = slow_tool(scene.server, 5, 100);
        let call = tool_with_progress(&json!("slow"), name, arguments, &token);
        let reply = caller.ask(call).await;
        assert_eq!(reply.progress(&token), [1, 2, 3, 4, 5]);
        assert_finished(&scene, &reply, 5);
        let mut expected = vec!["notifications/progress"; 5];
        if scene.server == Server::Python {
            expected.insert(0, "notifications/message");
        }
        assert_eq!(reply.methods(), expected);
    }
    // Without a token nobody wants to know.
    let (name, arguments) = slow_tool(Server::Everything, 2, 50);
    if scene.server == Server::Everything {
        let reply = caller.ask(tool(&json!(3), name, arguments)).await;
        assert!(reply.methods().is_empty(), "{reply:?}");
        assert_finished(&scene, &reply, 2);
    }
    house.close(&[]).await;
}

/// A tool that takes so many steps of so many milliseconds, with its arguments.
pub fn slow_tool(server: Server, steps: u32, milliseconds: u32) -> (&'static str, Value) {
    if server == Server::Python {
        return (
            "steps",
            json!({ "count": steps, "milliseconds": milliseconds }),
        );
    }
    let seconds = f64::from(steps * milliseconds) / 1000.0;
    let arguments = json!({ "duration": seconds, "steps": steps });
    ("trigger-long-running-operation", arguments)
}

/// Asserts that a reply is the answer of such a tool.
pub fn assert_finished(scene: &Scene, reply: &Reply, steps: u32) {
    let expected = match scene.server {
        Server::Python => format!("{steps} steps"),
        _ => format!("Steps: {steps}."),
    };
    assert!(reply.text().ends_with(&expected), "{reply:?}");
    assert_eq!(
        (reply.answer.code, &*reply.answer.kind),
        (200, "jsonrpc_response")
    );
}

pub async fn a_request_of_the_server_is_answered(scene: Scene, installed: Arc<Installed>) {
    let house = House::open(&scene, &installed).await;
    let caller = Caller::meet_with(&house, json!({ "sampling": {} })).await;
    let call = tool(
        &json!(1),
        "trigger-sampling-request",
        json!({ "prompt": "wind?" }),
    );
    let call = caller.send(call);
    let asked = house.first_note(&call, "sampling/createMessage").await;
    let content = json!({ "type": "text", "text": "north-west" });
    let result = json!({ "role": "assistant", "model": "weather", "content": content });
    let answer = json!({ "jsonrpc": "2.0", "id": asked.json["id"], "result": result });
    let taken = caller.ask(answer).await;
    assert_eq!(
        (&*taken.answer.kind, taken.answer.code),
        ("notify_ack", 202)
    );
    let reply = house.reply(&call).await;
    assert!(reply.text().contains("north-west"), "{reply:?}");
    assert_eq!(reply.methods(), ["sampling/createMessage"]);
    house.close(&[]).await;
}

/// spec-test: RPT-7
pub async fn callers_with_the_same_ids_share_a_pipe(scene: Scene, installed: Arc<Installed>) {
    let house = House::open(&scene, &installed).await;
    let caller = Caller::meet(&house).await;
    let (id, token) = (json!(1), json!(1));
    let calls: Vec<_> = (2..6)
        .map(|steps| {
            let (name, arguments) = slow_tool(scene.server, steps, 150);
            (
                steps,
                caller.send(tool_with_progress(&id, name, arguments, &token)),
            )
        })
        .collect();
    for (steps, call) in calls {
        let reply = house.reply(&call).await;
        let expected: Vec<_> = (1..=u64::from(steps)).collect();
        assert_eq!(reply.progress(&token), expected);
        assert_eq!(reply.answer.json["id"], id);
        assert_finished(&scene, &reply, steps);
    }
    house.close(&[]).await;
}
