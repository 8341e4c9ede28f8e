//! Collects the files in which citations stand.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Crates that must be there: a trace that cannot find them must fail, not pass on nothing.
const CRATES: [&str; 3] = ["model", "client", "fixtures"];
const CRATES_OPTIONAL: [&str; 2] = ["proofs", "fuzz"];
const FIXTURE_DIRS: [&str; 2] = ["fixtures/sequences", "fixtures/cases"];
const PAGES: [&str; 2] = ["README.md", "model/OPERATORS.md"];
const DEPTH_MAX: usize = 16;
const FILES_MAX: usize = 10_000;

/// Reads all sources, fixture data and pages of the workspace, with paths relative to its root.
///
/// # Errors
///
/// A crate is missing, a file cannot be read as UTF-8, or the tree is beyond its limits.
pub(crate) fn read_sources(root: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let mut paths = Vec::new();
    for name in CRATES {
        collect(&root.join(name), "rs", DEPTH_MAX, &mut paths)?;
    }
    for name in CRATES_OPTIONAL
        .iter()
        .filter(|name| root.join(name).is_dir())
    {
        collect(&root.join(name), "rs", DEPTH_MAX, &mut paths)?;
    }
    for name in FIXTURE_DIRS.iter().filter(|name| root.join(name).is_dir()) {
        collect(&root.join(name), "json", DEPTH_MAX, &mut paths)?;
    }
    paths.extend(
        PAGES
            .iter()
            .map(|name| root.join(name))
            .filter(|path| path.is_file()),
    );
    paths.sort();
    paths
        .into_iter()
        .map(|path| read_one(root, &path))
        .collect()
}

fn read_one(root: &Path, path: &Path) -> io::Result<(PathBuf, String)> {
    let text = fs::read_to_string(path).map_err(|error| at(path, &error))?;
    Ok((path.strip_prefix(root).unwrap_or(path).to_owned(), text))
}

/// Follows no links, and skips build output and hidden directories.
fn collect(dir: &Path, extension: &str, depth: usize, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    let depth = depth
        .checked_sub(1)
        .ok_or_else(|| at(dir, "nested too deeply"))?;
    for entry in fs::read_dir(dir).map_err(|error| at(dir, &error))? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let name = entry.file_name();
        let skipped = is_built(&path) || name.to_string_lossy().starts_with('.');
        if kind.is_dir() && !skipped {
            collect(&path, extension, depth, paths)?;
        } else if kind.is_file() && path.extension().is_some_and(|found| found == extension) {
            paths.push(path);
        }
        if paths.len() > FILES_MAX {
            return Err(at(dir, "too many files"));
        }
    }
    Ok(())
}

/// Whether a directory is cargo's own, whatever its name: sources may well be in one that is called `target`.
fn is_built(directory: &Path) -> bool {
    directory.join("CACHEDIR.TAG").exists()
}

fn at(path: &Path, reason: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {reason}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_without_the_crates_is_an_error() {
        let nowhere = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert!(read_sources(&nowhere).is_err());
    }

    #[test]
    fn the_tree_is_read_with_relative_paths_and_without_build_output() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let sources = read_sources(&root).unwrap();
        for expected in [
            "model/src/lib.rs",
            "model/tests/trace/tree.rs",
            "client/src/lib.rs",
            "client/src/target/mod.rs",
        ] {
            let found = sources
                .iter()
                .filter(|(path, _)| path == Path::new(expected));
            assert_eq!(found.count(), 1, "{expected}");
        }
        let built = |path: &Path| path.starts_with("target") || path.starts_with("fuzz/target");
        assert!(!sources.iter().any(|(path, _)| built(path)));
    }
}
