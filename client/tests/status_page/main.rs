//! The status page in headless Chromium: what a person sees, and what the page asks for.
//!
//! `client/tests/status_page/run` brings a Chromium and runs this. Without one, as in a plain
//! `cargo test`, it leaves itself out and says so. With `MOORLINE_PICTURES` set to a folder it also
//! puts pictures of the page there.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and says what it left out"
)]

mod browser;
#[path = "../canned/mod.rs"]
mod canned;

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use browser::Browser;
use canned::{Canned, SECRETS, Says};
use moorline::model::wire::{Channel, FailureSource};
use moorline::telemetry::Limits;
use serde_json::json;

/// Names the program to use.
const CHROMIUM: &str = "MOORLINE_CHROMIUM";

const PICTURES: &str = "MOORLINE_PICTURES";

/// Enough of everything that the page can show.
async fn busy() -> Canned {
    use Says::{Commands, Correction, Nothing, Silence, Status};
    let canned = Canned::new();
    canned
        .polls([Nothing, Nothing, Correction(41), Commands(1)])
        .await;
    canned
        .polls((0..120).map(|turn| {
            if turn % 4 == 0 {
                Commands(turn % 12)
            } else {
                Nothing
            }
        }))
        .await;
    canned
        .polls([
            Status(429),
            Status(503),
            Silence,
            Status(502),
            Silence,
            Correction(42),
        ])
        .await;
    canned
        .polls([Correction(41), Correction(43), Nothing, Correction(43)])
        .await;
    canned.polls((0..60).map(|turn| Commands(turn % 3))).await;
    canned
}

#[test]
fn the_page_shows_a_person_what_is_so() {
    let Some(program) = std::env::var_os(CHROMIUM) else {
        println!(
            "status page: left out, since {CHROMIUM} names no browser (client/tests/status_page/run brings one)"
        );
        return;
    };
    let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join("status-page-profile");
    let mut browser = Browser::start(Path::new(&program), &profile);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let mut checks = Checks {
        browser: &mut browser,
        runtime: &runtime,
    };
    checks.shows_everything_and_follows_changes();
    checks.a_full_queue_is_seen();
    checks.says_so_when_the_client_is_gone();
    checks.tells_something_without_scripts();
    println!("status page: 4 scenes checked");
}

struct Checks<'a> {
    browser: &'a mut Browser,
    runtime: &'a tokio::runtime::Runtime,
}

impl Checks<'_> {
    fn shows_everything_and_follows_changes(&mut self) {
        let canned = self.runtime.block_on(busy());
        canned.up(&Channel::main());
        let mut sources = canned.sources();
        sources.note_every = Duration::from_millis(25);
        let monitor = self.runtime.block_on(canned::start(sources));
        let origin = format!("http://{}", monitor.address());
        self.open_drawn(&origin);

        assert_eq!(self.text("level"), "ready");
        assert_eq!(self.text("headline"), "Commands arrive and can be run.");
        assert_eq!(self.text("reason-1"), "polls succeed");
        assert_eq!(self.text("reason-2"), "the target main answers");
        assert_eq!(self.text("watermark"), "43");
        assert_eq!(self.text("token"), "sent with polls");
        assert_eq!(self.text("polls-ended"), "194");
        assert_eq!(self.browser.evaluate("document.title"), "ready - Moorline");
        self.timeline_is_right(194);
        self.works_while_it_changes(&canned);
        self.browser
            .evaluate("document.querySelector('details').open = true");
        self.is_readable_everywhere("busy");

        canned.down(FailureSource::Connect);
        self.browser
            .until("document.documentElement.dataset.level === 'degraded'");
        assert_eq!(
            self.text("reason-1"),
            "the target main does not answer (connect)"
        );
        self.is_readable_everywhere("degraded");
        let side = Channel::parse("side").unwrap();
        canned.up(&side);
        self.browser
            .until("document.querySelector('[data-text=target]').textContent.includes('side: ')");
        let states = self.text("target");
        let lines: Vec<_> = states.lines().collect();
        assert!(
            lines.len() == 2 && lines[0].starts_with("main: does not answer"),
            "{states}"
        );
        self.is_readable_everywhere("two targets");
        self.runtime.block_on(canned.polls([Says::Status(401)]));
        self.browser
            .until("document.documentElement.dataset.level === 'unready'");
        self.is_readable_everywhere("unready");

        self.asked_for_nothing_else(&origin);
        let shown = self.browser.evaluate("document.documentElement.outerHTML");
        for secret in SECRETS {
            assert!(!shown.as_str().unwrap().contains(secret), "{secret}");
        }
        self.runtime.block_on(monitor.stop());
    }

    fn says_so_when_the_client_is_gone(&mut self) {
        let canned = Canned::new();
        let monitor = self.runtime.block_on(canned.monitor());
        let origin = format!("http://{}", monitor.address());
        self.open_drawn(&origin);
        assert_eq!(self.text("level"), "starting");
        let legend = self
            .browser
            .evaluate("document.getElementById('legend').innerText");
        assert_eq!(legend, "No poll has ended yet.");
        self.is_readable_everywhere("starting");
        self.runtime.block_on(monitor.stop());
        self.browser
            .until("document.documentElement.dataset.lost === 'yes'");
        assert_eq!(self.text("level"), "no answer");
        let said = self.text("headline");
        assert!(
            said.starts_with("The client does not answer. What is shown was so at "),
            "{said}"
        );
        assert_eq!(
            self.browser.evaluate("document.title"),
            "no answer - Moorline"
        );
        self.is_readable_everywhere("gone");
        self.browser.take_events();
    }

    fn tells_something_without_scripts(&mut self) {
        let canned = self.runtime.block_on(busy());
        let monitor = self.runtime.block_on(canned.monitor());
        let origin = format!("http://{}", monitor.address());
        self.browser.call(
            "Emulation.setScriptExecutionDisabled",
            json!({"value": true}),
        );
        self.browser.open(&origin);
        assert_eq!(self.text("level"), "ready");
        assert_eq!(self.text("watermark"), "43");
        let shown = self.browser.evaluate("document.body.innerText");
        let shown = shown.as_str().unwrap();
        assert!(
            shown.contains("Without scripts this page stays as it was"),
            "{shown}"
        );
        assert!(!shown.contains("oldest first"), "{shown}");
        self.is_readable_everywhere("scriptless");
        self.asked_for_nothing_else(&origin);
        self.runtime.block_on(monitor.stop());
    }

    fn open_drawn(&mut self, origin: &str) {
        self.browser.open(origin);
        self.browser
            .until("document.documentElement.dataset.script === 'drawn'");
    }

    /// What the page says at one of its places.
    fn text(&mut self, place: &str) -> String {
        let expression = format!("document.querySelector('[data-text=\"{place}\"]').textContent");
        self.browser
            .evaluate(&expression)
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// One mark a poll, in order, with words for each; the legend counts them all.
    fn timeline_is_right(&mut self, polls: usize) {
        let marks = self.browser.evaluate(
            "[...document.querySelectorAll('#timeline li')].map((mark) => mark.innerText).join('')",
        );
        let marks = marks.as_str().unwrap();
        assert_eq!(marks.chars().count(), polls);
        // An error that says nothing, three failures, a tokenless one, and the rest as told.
        assert!(marks.starts_with("··N1"), "{marks}");
        assert!(marks.contains("?!!E–N"), "{marks}");
        assert!(marks.contains("NSX·R"), "{marks}");
        let words = self.browser.evaluate(
            "[...document.querySelectorAll('#timeline li')].every((mark) => \
             /^No\\. \\d+, \\d\\d:\\d\\d:\\d\\d: [a-z]/.test(mark.title) \
             && mark.getAttribute('aria-label') === mark.title)",
        );
        assert_eq!(words, true);
        for (place, begins) in [("from", "first ended "), ("to", "last ended ")] {
            let time = self.browser.evaluate(&format!(
                "document.getElementById('timeline-{place}').textContent"
            ));
            let time = time.as_str().unwrap();
            assert!(time.starts_with(begins) && time.contains(':'), "{time}");
        }
        let counted = self.browser.evaluate(
            "[...document.querySelectorAll('#legend li')].map((entry) => \
             Number(entry.innerText.match(/: (\\d+)$/)?.[1] ?? 0)).reduce((sum, one) => sum + one, 0)",
        );
        assert_eq!(counted, polls);
        let legend = self
            .browser
            .evaluate("document.getElementById('legend').innerText");
        // A 502 is an answer, too.
        assert!(
            legend
                .as_str()
                .unwrap()
                .contains("destination failure, no token to drop: 1"),
            "{legend}"
        );
        assert_eq!(
            self.browser
                .evaluate("document.querySelectorAll('#table tr').length"),
            20
        );
    }

    /// The queue is full and no poll is under way: that is said at once, degrades after a while, and
    /// leaves a mark in the timeline.
    fn a_full_queue_is_seen(&mut self) {
        let canned = self.runtime.block_on(busy());
        canned.telemetry.limits(Limits {
            queue: 20,
            concurrency: NonZeroUsize::new(10).unwrap(),
        });
        canned
            .telemetry
            .commands(|counts| (counts.queued, counts.running) = (20, 10));
        let monitor = self.runtime.block_on(canned.monitor());
        let origin = format!("http://{}", monitor.address());
        self.open_drawn(&origin);
        assert_eq!(self.text("queued"), "20 of 20");
        assert_eq!(self.text("running"), "10 of 10");
        let told = "the queue is full: no more polls until a place is free";
        assert_eq!(self.text("reason-2"), told);
        self.browser
            .until("document.documentElement.dataset.level === 'degraded'");
        assert_eq!(self.text("reason-1"), told);
        assert!(
            self.text("headline")
                .starts_with("No more commands are taken")
        );
        self.browser
            .until("document.querySelectorAll('#timeline .pause').length === 1");
        let last = "document.querySelector('#timeline li:last-child').title";
        let last = self.browser.evaluate(last);
        assert!(
            last.as_str()
                .unwrap()
                .starts_with("no poll under way for 1"),
            "{last}"
        );
        self.is_readable_everywhere("full");

        // It moves again, and the mark stays where it is.
        canned.telemetry.commands(|counts| counts.queued = 0);
        self.runtime.block_on(canned.polls([Says::Status(503)]));
        let held = self.runtime.block_on(canned.holds());
        self.browser.until(
            "document.querySelector('[data-text=headline]').textContent.startsWith('Waiting for the first successful poll since ')",
        );
        assert_eq!(self.text("reason-2"), "a poll waits for its answer");
        assert!(self.text("poll-under-way").starts_with("for "));
        let marks = "[...document.querySelectorAll('#timeline li')].slice(-3).map((mark) => mark.innerText).join('')";
        assert_eq!(self.browser.evaluate(marks), "2…!");
        self.is_readable_everywhere("waiting");
        self.asked_for_nothing_else(&origin);
        held.abort();
        self.runtime.block_on(monitor.stop());
    }

    /// Counts rise while the page is open: numbers and bars follow.
    fn works_while_it_changes(&mut self, canned: &Canned) {
        self.browser
            .until("document.getElementById('chart-from').textContent !== ''");
        let top = "document.getElementById('chart-top').textContent";
        assert_eq!(self.browser.evaluate(top), "", "there are no bars");
        for turn in 0..40_u64 {
            canned.telemetry.commands(|counts| {
                counts.answered += 5 + turn % 7;
                counts.failed += u64::from(turn % 9 == 0) * 2;
                counts.expired += u64::from(turn % 10 == 0);
                counts.running = 3;
            });
            std::thread::sleep(Duration::from_millis(50));
        }
        let (answered, failed) = (315, 10);
        assert_eq!(canned.telemetry.facts().commands.answered, answered);
        let expression = "document.querySelector('[data-text=\"commands-answered\"]').innerText";
        self.browser
            .until(&format!("{expression} === '{answered}'"));
        assert_eq!(self.text("commands-failed"), failed.to_string());
        assert_eq!(self.text("running"), "3");
        let said = self.text("throughput");
        assert!(
            said.contains(" answered, 10 failed and 4 expired in"),
            "{said}"
        );
        self.browser
            .until(&format!("{top}.startsWith('highest bar: ')"));
        for tone in ["answered", "failed", "expired"] {
            let bars = format!("document.querySelectorAll('#chart rect.{tone}').length > 0");
            self.browser.until(&bars);
        }
    }

    /// In light and dark, wide and narrow: nothing sticks out, and every text stands out.
    fn is_readable_everywhere(&mut self, scene: &str) {
        for (width, dark) in [
            (1280, false),
            (1280, true),
            (390, false),
            (390, true),
            (320, true),
        ] {
            self.browser.view(width, dark);
            let sticks_out = self.browser.evaluate(
                "innerWidth + ': ' + (document.documentElement.scrollWidth - document.documentElement.clientWidth)",
            );
            assert_eq!(sticks_out, format!("{width}: 0"), "{scene}, dark: {dark}");
            let worst = self.browser.evaluate(WORST_CONTRAST);
            let (ratio, text) = (worst["ratio"].as_f64().unwrap(), &worst["text"]);
            assert!(worst["texts"].as_u64().unwrap() > 40, "{worst}");
            assert!(
                ratio >= 4.5,
                "{scene}, {width}, dark: {dark}: {ratio:.2} at {text}"
            );
            self.keep_picture(&format!(
                "{scene}-{width}-{}",
                if dark { "dark" } else { "light" }
            ));
        }
        self.browser.view(1280, false);
    }

    fn asked_for_nothing_else(&mut self, origin: &str) {
        let mut requests = 0;
        for (event, params) in self.browser.take_events() {
            match event.as_str() {
                "Network.requestWillBeSent" => {
                    let url = params["request"]["url"].as_str().unwrap();
                    let own = url.strip_prefix(origin);
                    let allowed = own.is_some_and(|path| ["/", "/status.json"].contains(&path));
                    assert!(allowed || url.starts_with("data:image/svg+xml,"), "{url}");
                    requests += 1;
                }
                "Runtime.exceptionThrown" => panic!("the page's script failed: {params}"),
                "Log.entryAdded" => panic!("the browser complains: {params}"),
                _ => {}
            }
        }
        assert!(requests >= 1, "requests are seen");
    }

    fn keep_picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os(PICTURES).map(PathBuf::from) else {
            return;
        };
        let picture = self.browser.picture();
        let file = std::fs::File::create(folder.join(name).with_extension("png")).unwrap();
        let mut decoder = Command::new("base64")
            .arg("-d")
            .stdin(Stdio::piped())
            .stdout(file)
            .spawn()
            .unwrap();
        decoder
            .stdin
            .take()
            .unwrap()
            .write_all(picture.as_bytes())
            .unwrap();
        assert!(decoder.wait().unwrap().success());
    }
}

/// The least contrast, by the formula of WCAG 2, between a visible text and what is behind it.
const WORST_CONTRAST: &str = r#"(() => {
  const parse = (color) => color.match(/[\d.]+/g).map(Number);
  const light = (color) => parse(color).slice(0, 3).map((value) => {
    const part = value / 255;
    return part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4;
  }).reduce((sum, part, index) => sum + part * [.2126, .7152, .0722][index], 0);
  const behind = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      const alpha = parse(color)[3] ?? 1;
      if (alpha === 1) return color;
      if (alpha !== 0) throw new Error("half transparent: " + at.outerHTML);
    }
    throw new Error("nothing is behind " + element.outerHTML);
  };
  let worst = { ratio: 21, text: "", texts: 0 };
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].filter((node) => node.nodeType === 3 && node.data.trim() !== "");
    if (own.length === 0 || !element.checkVisibility() || element.closest("svg, script, noscript")) continue;
    const [one, two] = [light(getComputedStyle(element).color), light(behind(element))];
    const ratio = (Math.max(one, two) + .05) / (Math.min(one, two) + .05);
    const texts = worst.texts + 1;
    worst = ratio < worst.ratio ? { ratio, text: element.textContent.trim(), texts } : { ...worst, texts };
  }
  return worst;
})()"#;
