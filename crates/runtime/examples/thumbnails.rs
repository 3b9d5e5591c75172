//! Makes a thumbnail of each image in a folder: reading waits, scaling computes, and at most eight
//! images are in memory at once. `thumbnails IN OUT`; without arguments it draws some images first.
//! Images are grey PGM files ("P5", width and height, 255, pixels), which need no other crate.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

type Failure = Box<dyn Error + Send + Sync>;

/// Bytes in each line, and all lines.
struct Image(usize, Vec<u8>);

impl Image {
    fn read(path: &Path) -> Result<Image, Failure> {
        let bytes = fs::read(path)?;
        let mut parts = bytes.splitn(4, |byte| *byte == b'\n').skip(1);
        let size = std::str::from_utf8(parts.next().ok_or("no size")?)?;
        let width = size.split(' ').next().ok_or("no width")?.parse()?;
        let pixels = parts.nth(1).ok_or("no pixels")?;
        Ok(Image(width, pixels.to_vec()))
    }

    fn write(&self, path: &Path) -> Result<(), Failure> {
        let Image(width, pixels) = self;
        let head = format!("P5\n{width} {}\n255\n", pixels.len() / width);
        Ok(fs::write(path, [head.as_bytes(), pixels].concat())?)
    }

    /// A quarter of it: each pixel is the mean of sixteen.
    fn quarter(&self) -> Image {
        let Image(width, pixels) = self;
        let mean = |x, y| {
            let at = |i: usize| u32::from(pixels[(4 * y + i / 4) * width + 4 * x + i % 4]);
            ((0..16).map(at).sum::<u32>() / 16) as u8
        };
        let (wide, high) = (width / 4, pixels.len() / width / 4);
        Image(
            wide,
            (0..wide * high).map(|i| mean(i % wide, i / wide)).collect(),
        )
    }
}

fn thumbnails(from: &Path, to: &Path) -> Result<usize, Failure> {
    let queue = cmwq::Workqueue::builder("images").max_active(8).build()?;
    let (files, to) = (fs::read_dir(from)?, to.to_owned());
    let made = queue.map_unordered(files, move |file| {
        let file = file?;
        Image::read(&file.path())?
            .quarter()
            .write(&to.join(file.file_name()))
    });
    let made: Result<Vec<()>, Failure> = made.collect();
    Ok(made?.len())
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if let [from, to] = &arguments[..] {
        println!("{} thumbnails", thumbnails(from, to)?);
        return Ok(());
    }
    let folder = std::env::temp_dir().join(format!("thumbnails-{}", std::process::id()));
    let (from, to) = (folder.join("in"), folder.join("out"));
    fs::create_dir_all(&from)?;
    fs::create_dir_all(&to)?;
    for n in 0..24 {
        Image(64, vec![n; 64 * 32]).write(&from.join(format!("{n}.pgm")))?;
    }
    assert_eq!(thumbnails(&from, &to)?, 24);
    assert_eq!(Image::read(&to.join("7.pgm"))?.1, [7; 16 * 8]);
    Ok(fs::remove_dir_all(folder)?)
}

#[test]
fn it_works() {
    main().unwrap();
}
