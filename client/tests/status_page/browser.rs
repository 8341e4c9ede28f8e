//! Headless Chromium, driven over the DevTools protocol on a pair of pipes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// After so many seconds the browser ends by itself, whatever it waits for.
const LIFE_SECS: &str = "150";

/// One browser with one page.
pub(crate) struct Browser {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    calls: u64,
    session: Option<String>,
    events: Vec<(String, Value)>,
}

impl Browser {
    pub(crate) fn start(program: &Path, profile: &Path) -> Self {
        // The protocol wants descriptors 3 and 4, which a shell can make of 0 and 1.
        let mut process = Command::new("sh")
            .args(["-c", r#"exec timeout "$0" "$@" 3<&0 4>&1 0</dev/null 1>&2"#])
            .arg(LIFE_SECS)
            .arg(program)
            .args([
                "--remote-debugging-pipe",
                "--headless",
                // Tests in containers run as root, where the sandbox does not; the page is our own.
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--no-first-run",
            ])
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let (to, from) = (process.stdin.take(), process.stdout.take());
        let mut browser = Self {
            process,
            to: to.unwrap(),
            from: BufReader::new(from.unwrap()),
            calls: 0,
            session: None,
            events: Vec::new(),
        };
        let page = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Network", "Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Calls one method and waits for its result; what happens meanwhile is kept.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let mut call = json!({"id": self.calls, "method": method, "params": params});
        if let Some(session) = &self.session {
            call["sessionId"] = session.as_str().into();
        }
        let mut bytes = call.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser listens");
        loop {
            let mut message = self.read();
            if message["id"] == self.calls {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].take();
            }
            if let Some(event) = message["method"].as_str() {
                self.events
                    .push((event.to_owned(), message["params"].take()));
            }
        }
    }

    /// Evaluates an expression in the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true});
        let mut result = self.call("Runtime.evaluate", params);
        let fault = &result["exceptionDetails"];
        assert!(fault.is_null(), "{expression}: {fault}");
        result["result"]["value"].take()
    }

    /// Evaluates until the result is `true`, for a bounded number of turns.
    pub(crate) fn until(&mut self, expression: &str) {
        for _ in 0..600 {
            if self.evaluate(expression) == true {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(25));
        }
        let shown = self.evaluate("document.body.innerText");
        panic!("this never came: {expression}; the page says {shown}");
    }

    pub(crate) fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({"url": url}));
        self.until("location.protocol === 'http:' && document.readyState === 'complete'");
    }

    /// Takes what happened so far.
    pub(crate) fn take_events(&mut self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.events)
    }

    /// Sets the window's width in pixels, and whether the person prefers dark pages.
    pub(crate) fn view(&mut self, width: u32, dark: bool) {
        let metrics =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        self.call("Emulation.setScrollbarsHidden", json!({"hidden": true}));
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// A picture of the whole page, PNG in base64.
    pub(crate) fn picture(&mut self) -> String {
        let params = json!({"format": "png", "captureBeyondViewport": true});
        let result = self.call("Page.captureScreenshot", params);
        result["data"].as_str().unwrap().to_owned()
    }

    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from
            .read_until(0, &mut bytes)
            .expect("the browser answers");
        assert_eq!(bytes.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&bytes).expect("JSON")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // `timeout` passes its end on to the browser.
        let _ = Command::new("kill")
            .arg(self.process.id().to_string())
            .status();
        let _ = self.process.wait();
    }
}
