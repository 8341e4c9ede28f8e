//! The toy MCP server of `moorline-fixtures` over standard input and output, for the tests of stdio
//! targets. It is the same as `moorline-fixtures mcp --stdio`.

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let served = moorline_fixtures::mcp::serve_stdio().await;
    // The runtime would wait for the thread that reads standard input.
    std::process::exit(i32::from(served.is_err()))
}
