//! A kernel to boot: of a Debian package, fetched but not installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{at, output};

/// Depends on the kernel for virtual machines of the day. It has serial console, devtmpfs, SMP and
/// NUMA built in, so it needs no module.
const PACKAGE: &str = "linux-image-cloud-amd64";

/// Names another kernel: an image that the boot loader would load.
const KERNEL: &str = "CMWQ_VM_KERNEL";

/// The image: the one that the environment names, or a cached one, or a fetched one.
pub(super) fn get(folder: &Path) -> Result<PathBuf, String> {
    if let Some(kernel) = std::env::var_os(KERNEL) {
        let kernel = PathBuf::from(kernel);
        let found = fs::metadata(&kernel).map_err(at(&kernel));
        return found.map(|_| kernel);
    }
    match image(folder)? {
        Some(kernel) => Ok(kernel),
        None => fetch(folder).map_err(|error| {
            format!("{error}\nno kernel: neither the package {PACKAGE} nor {KERNEL}=FILE")
        }),
    }
}

fn image(folder: &Path) -> Result<Option<PathBuf>, String> {
    let has = |name: &str| name.starts_with("vmlinuz-");
    find(folder, has)
}

fn find(folder: &Path, has: impl Fn(&str) -> bool) -> Result<Option<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(at(folder))?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(paths.find(|path| path.file_name().and_then(|n| n.to_str()).is_some_and(&has)))
}

/// Unpacks in a folder of its own, so that what is kept is complete.
fn fetch(folder: &Path) -> Result<PathBuf, String> {
    let part = folder.join("part");
    let _ = fs::remove_dir_all(&part);
    fs::create_dir_all(&part).map_err(at(&part))?;
    let package = download(&part).or_else(|_| {
        // A new system knows no packages, an old one those of long ago.
        output(Command::new("apt-get").args(["--quiet", "update"]))?;
        download(&part)
    })?;
    output(Command::new("dpkg-deb").arg("-x").args([&package, &part]))?;
    let unpacked = image(&part.join("boot"))?;
    let unpacked = unpacked.ok_or_else(|| format!("{}: no kernel in it", package.display()))?;
    let kept = folder.join(unpacked.file_name().expect("it was found by its name"));
    fs::rename(&unpacked, &kept).map_err(at(&kept))?;
    fs::remove_dir_all(&part).map_err(at(&part))?;
    Ok(kept)
}

/// The file of the package that has the kernel.
fn download(folder: &Path) -> Result<PathBuf, String> {
    let text = output(Command::new("apt-cache").args(["depends", PACKAGE]))?;
    let name = kernel_of(&text).ok_or_else(|| format!("{PACKAGE} depends on no kernel"))?;
    eprintln!("xtask vm-test: fetching {name}");
    let mut command = Command::new("apt-get");
    output(
        command
            .args(["--quiet", "download", &name])
            .current_dir(folder),
    )?;
    let file = find(folder, |file| file.ends_with(".deb"))?;
    file.ok_or_else(|| format!("{}: apt-get left no package", folder.display()))
}

fn kernel_of(depends: &str) -> Option<String> {
    let mut names = depends
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "));
    let name = names.find(|name| name.starts_with("linux-image-"))?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_dependency_is_the_kernel() {
        let text = "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-56-cloud-amd64\n";
        let kernel = kernel_of(text);
        assert_eq!(kernel.as_deref(), Some("linux-image-6.1.0-56-cloud-amd64"));
        assert_eq!(kernel_of("linux-image-cloud-amd64\n"), None);
        assert_eq!(kernel_of(""), None);
    }
}
