//! A process finds its own page. Alone in its process, which has no other page.

use cmwq_stats::find::{FindError, of_process};
use cmwq_stats::{Page, Snapshot};

#[test]
fn a_process_is_found_by_its_number_while_it_shows_something() {
    let pid = std::process::id();
    assert!(matches!(of_process(pid), Err(FindError::NoPage(_))));
    let mut page = Page::new().unwrap();
    let shown = Snapshot {
        cpus: 9,
        ..Snapshot::default()
    };
    page.publish(&shown).unwrap();
    assert_eq!(of_process(pid).unwrap().1, shown);
    drop(page);
    assert!(matches!(of_process(pid), Err(FindError::NoPage(_))));
}
