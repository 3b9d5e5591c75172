use std::path::PathBuf;

pub fn count_all(paths: Vec<PathBuf>) -> usize {
    cmwq::system().map(paths, |path| super::count(&path)).sum()
}
