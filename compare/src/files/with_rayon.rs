use rayon::prelude::*;
use std::path::PathBuf;

pub fn count_all(paths: Vec<PathBuf>) -> usize {
    paths.par_iter().map(|path| super::count(path)).sum()
}
