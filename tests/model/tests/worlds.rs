//! What breaks must be found broken, by the invariant that it breaks; a slice of the rest must hold.

use tenure_model::{Ending, ROWS};

#[test]
fn every_broken_world_is_found_out() {
    for row in ROWS.iter().filter(|row| row.breaks.is_some()) {
        let found = row.explore(row.short);
        assert!(row.expects(&found), "{}: {:?}", row.name, found.ending);
    }
}

#[test]
fn every_sound_world_holds_in_its_first_states() {
    for row in ROWS.iter().filter(|row| row.breaks.is_none()) {
        let found = row.explore(20_000);
        assert!(
            matches!(found.ending, Ending::Exhausted | Ending::Stopped),
            "{}: {:?}",
            row.name,
            found.ending,
        );
    }
}

#[test]
fn a_search_comes_to_the_same_each_time() {
    for row in ROWS {
        assert_eq!(row.explore(5_000), row.explore(5_000), "{}", row.name);
    }
}

#[test]
fn the_story_of_a_violation_ends_with_it_and_tells_what_the_machines_said() {
    let row = ROWS.iter().find(|row| row.name.contains("install")).expect("the row is there");
    let Ending::Broken { violation, story } = row.explore(row.short).ending else {
        panic!("nothing was found");
    };
    let story = story.to_string();
    assert!(story.trim_end().ends_with(&violation.to_string()), "{story}");
    assert!(story.contains("Event { generation: 1, event: Acquired"), "{story}");
}
