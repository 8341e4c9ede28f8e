//! A copy of the workspace to change.

use std::path::{Path, PathBuf};
use std::{env, fs, path};

use super::{SourceFault, SourceMutant};

/// Far more files than the workspace has.
const FILES_MAX: usize = 5_000;

/// The copy, and where it is built.
pub(super) struct Scratch {
    /// The copy of the workspace.
    pub(super) tree: PathBuf,
    /// Its target directory, which is kept from run to run. Not that of the workspace: programs that are built
    /// from mutants must not be found there.
    pub(super) build: PathBuf,
}

impl Scratch {
    /// Copies the workspace into `mutants` of its target directory, over the copy of an earlier run.
    pub(super) fn copy(workspace: &Path) -> Result<Self, SourceFault> {
        let target = env::var_os("CARGO_TARGET_DIR");
        let target = target.map_or_else(|| workspace.join("target"), PathBuf::from);
        let home = path::absolute(&target).map_err(|error| fault(&target, error))?;
        let home = home.join("mutants");
        let scratch = Self {
            tree: home.join("tree"),
            build: home.join("build"),
        };
        if scratch.tree.exists() {
            fs::remove_dir_all(&scratch.tree).map_err(|error| fault(&scratch.tree, error))?;
        }
        let mut left = FILES_MAX;
        copy_directory(workspace, &scratch.tree, &mut left)?;
        Ok(scratch)
    }

    /// Writes a mutant, and returns what stood in its file.
    pub(super) fn mutate(&self, mutant: &SourceMutant) -> Result<String, SourceFault> {
        let path = self.tree.join(mutant.file);
        let original = read(&path)?;
        write(&path, &mutant.applied_to(&original)?)?;
        Ok(original)
    }

    /// Puts back what [`Scratch::mutate`] returned.
    pub(super) fn restore(&self, mutant: &SourceMutant, original: &str) -> Result<(), SourceFault> {
        write(&self.tree.join(mutant.file), original)
    }
}

pub(super) fn read(path: &Path) -> Result<String, SourceFault> {
    fs::read_to_string(path).map_err(|error| fault(path, error))
}

fn write(path: &Path, text: &str) -> Result<(), SourceFault> {
    fs::write(path, text).map_err(|error| fault(path, error))
}

/// Whether a directory is cargo's own, whatever its name: sources may well be in one that is called `target`.
fn is_built(directory: &Path) -> bool {
    directory.join("CACHEDIR.TAG").exists()
}

/// Leaves out what is built and what is hidden.
fn copy_directory(from: &Path, to: &Path, left: &mut usize) -> Result<(), SourceFault> {
    fs::create_dir_all(to).map_err(|error| fault(to, error))?;
    let entries = fs::read_dir(from).map_err(|error| fault(from, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| fault(from, error))?;
        let name = entry.file_name();
        let kind = entry.file_type().map_err(|error| fault(from, error))?;
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        if kind.is_dir() && is_built(&entry.path()) {
            continue;
        }
        if kind.is_dir() {
            copy_directory(&entry.path(), &to.join(name), left)?;
        } else if kind.is_file() {
            *left = left.checked_sub(1).ok_or(SourceFault::TooManyFiles)?;
            fs::copy(entry.path(), to.join(name)).map_err(|error| fault(from, error))?;
        }
    }
    Ok(())
}

fn fault(path: &Path, error: std::io::Error) -> SourceFault {
    SourceFault::File {
        path: path.display().to_string(),
        error,
    }
}
