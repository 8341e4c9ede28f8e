//! Where the servers are, as `install` puts them.

use std::path::{Path, PathBuf};

/// The paths of everything that is needed.
pub struct Installed {
    pub everything: PathBuf,
    pub filesystem: PathBuf,
    pub python: PathBuf,
}

/// Files of this folder.
pub const LOOPBACK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/loopback.cjs");
pub const PYTHON_SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/server.py");

impl Installed {
    /// Finds them all, or panics and says what to do.
    pub fn find() -> Self {
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/real");
        let file = |name: &str| {
            let path = tools.join(name);
            assert!(
                path.is_file(),
                "{name} is missing in target/tools/real: client/tests/real/install brings it"
            );
            path
        };
        // Written last: without it the rest may be incomplete.
        file("installed");
        let node = "node/node_modules/@modelcontextprotocol";
        Self {
            everything: file(&format!("{node}/server-everything/dist/index.js")),
            filesystem: file(&format!("{node}/server-filesystem/dist/index.js")),
            python: file("python/bin/python"),
        }
    }
}
