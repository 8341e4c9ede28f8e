//! What is answered at which path.

use std::fmt::Write;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::history::History;
use super::view::{Health, Snapshot, Status};
use super::{Sources, host, metrics, page};

/// What the answers are made from.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) sources: Sources,
    pub(super) history: Arc<History>,
}

impl Shared {
    fn look(&self) -> Snapshot {
        Snapshot::take(&self.sources)
    }
}

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";

/// What any answer that is no page allows a browser to do with it: nothing.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

// spec: SET-7
pub(super) fn router(shared: Shared, policy: host::Policy) -> Router {
    Router::new()
        .route("/", get(status_page))
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
        .route("/health", get(health))
        .route("/metrics", get(scrape))
        .route("/status.json", get(status))
        .fallback(unknown_path)
        .method_not_allowed_fallback(unknown_method)
        .layer(from_fn_with_state(policy, host::guard))
        .layer(map_response(with_common_headers))
        .with_state(shared)
}

async fn alive() -> Response {
    answer(StatusCode::OK, TEXT, "ok\n".to_owned())
}

// spec: RPT-1, RPT-5
async fn ready(State(shared): State<Shared>) -> Response {
    let snapshot = shared.look();
    let mut text = match snapshot.level.is_ready() {
        true => "ready\n".to_owned(),
        false => format!("not ready: {}\n", snapshot.level.name()),
    };
    for reason in &snapshot.reasons {
        let age = snapshot.age_of(reason);
        let (at, ago) = (snapshot.moment(age).at, page::span(age));
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}, since {at} ({ago} ago)", reason.cause);
    }
    let status = match snapshot.level.is_ready() {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    answer(status, TEXT, text)
}

async fn health(State(shared): State<Shared>) -> Response {
    json(&Health::of(&shared.look()))
}

async fn status(State(shared): State<Shared>) -> Response {
    let notes = shared.history.notes();
    json(&Status::of(&shared.look(), &notes))
}

async fn scrape(State(shared): State<Shared>) -> Response {
    match metrics::text(shared.look()) {
        Ok(text) => answer(StatusCode::OK, metrics::CONTENT_TYPE, text),
        Err(_) => failed(),
    }
}

async fn status_page(State(shared): State<Shared>) -> Response {
    let notes = shared.history.notes();
    let page = page::render(&shared.look(), &notes);
    let mut response = answer(StatusCode::OK, HTML, page.html);
    match HeaderValue::try_from(page.policy) {
        Ok(policy) => {
            response
                .headers_mut()
                .insert(header::CONTENT_SECURITY_POLICY, policy);
            response
        }
        Err(_) => failed(),
    }
}

async fn unknown_path() -> Response {
    let text = "There is nothing here. See / for a page, or /healthz, /readyz, /health, /metrics \
                and /status.json.\n";
    answer(StatusCode::NOT_FOUND, TEXT, text.to_owned())
}

async fn unknown_method() -> Response {
    let text = "Only GET and HEAD are answered.\n".to_owned();
    answer(StatusCode::METHOD_NOT_ALLOWED, TEXT, text)
}

fn json(value: &impl serde::Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(text) => answer(StatusCode::OK, JSON, text),
        Err(_) => failed(),
    }
}

fn failed() -> Response {
    let text = "The answer could not be written.\n".to_owned();
    answer(StatusCode::INTERNAL_SERVER_ERROR, TEXT, text)
}

fn answer(status: StatusCode, content_type: &'static str, body: String) -> Response {
    (status, [(header::CONTENT_TYPE, content_type)], body).into_response()
}

async fn with_common_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(NOTHING));
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let policy = header::HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(policy, HeaderValue::from_static("same-origin"));
    response
}
