//! The Arrow C data interface without Python: our lists, read by hand, and texts of hand-made arrays.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bpeline::Error;
use bpeline::arrow::lists::{Lists, Part};
use bpeline::arrow::text::{Column, Texts};
use bpeline::arrow::{Array, Schema, Stream};
use proptest::prelude::*;

static RELEASED: AtomicUsize = AtomicUsize::new(0);

/// Counts how often it goes.
struct Owner(Arc<AtomicUsize>, #[allow(dead_code)] Vec<u16>, #[allow(dead_code)] Vec<i64>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn lists(dropped: &Arc<AtomicUsize>) -> Arc<Lists> {
    let owner = Owner(Arc::clone(dropped), vec![1, 2, 3, 4, 5], vec![0, 2, 2, 5]);
    let parts = [2, 0, 1].map(|length| Part { length, nulls: 0 }).to_vec();
    let (tokens, offsets) = (&owner.1[..] as *const [u16], &owner.2[..] as *const [i64]);
    // SAFETY: the owner has them.
    Arc::new(unsafe { Lists::of_memory(tokens, offsets, None, parts, Box::new(owner)) })
}

fn read(array: &Array) -> Vec<Vec<u16>> {
    // SAFETY: an array of ours: large_list of uint16.
    unsafe {
        let ids = &**array.children;
        let tokens = std::slice::from_raw_parts((*ids.buffers.add(1)).cast::<u16>(), ids.length as usize);
        let offsets = (*array.buffers.add(1)).cast::<i64>().add(array.offset as usize);
        let offsets = std::slice::from_raw_parts(offsets, array.length as usize + 1);
        offsets.windows(2).map(|ends| tokens[ends[0] as usize..ends[1] as usize].to_vec()).collect()
    }
}

#[test]
fn lists_go_out_whole_and_in_parts() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let lists = lists(&dropped);
    let schema = lists.schema();
    // SAFETY: a schema of ours.
    let formats = unsafe { (CStr::from_ptr(schema.format), CStr::from_ptr((**schema.children).format)) };
    assert_eq!(formats, (c"+L", c"S"));
    let whole = lists.array();
    assert_eq!(read(&whole), [vec![1, 2], vec![], vec![3, 4, 5]]);
    let mut stream: Stream = lists.stream();
    assert_eq!(stream.schema().unwrap().n_children, 1);
    let parts: Vec<Array> = std::iter::from_fn(|| stream.next_array().unwrap()).collect();
    assert!(stream.next_array().unwrap().is_none());
    drop((lists, stream, whole));
    assert_eq!(parts.iter().map(read).collect::<Vec<_>>(), [vec![vec![1, 2], vec![]], vec![], vec![vec![3, 4, 5]]]);
    // A child may be taken and stay longer; other threads may be the last to have something.
    // SAFETY: nobody else has the array.
    let child = unsafe { Array::take(*parts[0].children) };
    drop(parts);
    assert_eq!(dropped.load(Ordering::Relaxed), 0);
    std::thread::spawn(move || drop(child)).join().unwrap();
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
}

unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: one of ours.
    unsafe { (*schema).release = None };
}

unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: one of ours, made by `array_of`.
    unsafe {
        drop(Box::from_raw((*array).private_data.cast::<Buffers>()));
        (*array).release = None;
    }
    RELEASED.fetch_add(1, Ordering::Relaxed);
}

struct Buffers {
    pointers: Vec<*const c_void>,
    _memory: Vec<Vec<u8>>,
}

fn column_of(format: &CStr) -> bpeline::Result<Column> {
    let mut schema = Schema::released();
    schema.format = format.as_ptr().cast::<c_char>();
    schema.release = Some(release_schema);
    // SAFETY: filled in as the interface wants it.
    unsafe { Column::find(&schema) }
}

/// An array with a bit of validity for each value, and these buffers, none of which is aligned; an empty one is null.
fn array_of(length: usize, offset: usize, present: &[bool], buffers: Vec<Vec<u8>>) -> Array {
    let mut bits = vec![0; present.len().div_ceil(8)];
    present.iter().enumerate().for_each(|(at, &is_there)| bits[at / 8] |= (is_there as u8) << (at % 8));
    let memory: Vec<Vec<u8>> = std::iter::once(bits).chain(buffers).map(|buffer| [vec![0], buffer].concat()).collect();
    let pointers = memory.iter().map(|data| if data.len() == 1 { null() } else { data[1..].as_ptr().cast() }).collect();
    let mut buffers = Box::new(Buffers { pointers, _memory: memory });
    Array {
        length: length as i64,
        null_count: -1,
        offset: offset as i64,
        n_buffers: buffers.pointers.len() as i64,
        n_children: 0,
        buffers: buffers.pointers.as_mut_ptr(),
        children: null_mut(),
        dictionary: null_mut(),
        release: Some(release_array),
        private_data: Box::into_raw(buffers).cast(),
    }
}

/// The values from `offset` on in an array of that format.
fn array_in(format: &CStr, values: &[Option<Vec<u8>>], offset: usize) -> Array {
    let present: Vec<bool> = values.iter().map(Option::is_some).collect();
    let texts: Vec<&[u8]> = values.iter().map(|value| value.as_deref().unwrap_or(b"?")).collect();
    let ends = texts.iter().scan(0, |end, text| {
        *end += text.len() as i64;
        Some(*end)
    });
    let ends = std::iter::once(0).chain(ends);
    let buffers = match format.to_bytes() {
        b"u" => vec![ends.flat_map(|end| (end as i32).to_ne_bytes()).collect(), texts.concat()],
        b"U" => vec![ends.flat_map(i64::to_ne_bytes).collect(), texts.concat()],
        _ => {
            let (mut views, mut data) = (Vec::new(), vec![Vec::new(), Vec::new()]);
            for (at, text) in texts.iter().enumerate() {
                views.extend((text.len() as i32).to_ne_bytes());
                let mut rest = [0; 12];
                if text.len() <= 12 {
                    rest[..text.len()].copy_from_slice(text);
                } else {
                    let buffer = at % 2;
                    rest[4..8].copy_from_slice(&(buffer as i32).to_ne_bytes());
                    rest[8..].copy_from_slice(&(data[buffer].len() as i32).to_ne_bytes());
                    data[buffer].extend_from_slice(text);
                }
                views.extend(rest);
            }
            let sizes = data.iter().flat_map(|data| (data.len() as i64).to_ne_bytes()).collect();
            vec![views, data.remove(0), data.remove(0), sizes]
        }
    };
    array_of(values.len() - offset, offset, &present, buffers)
}

proptest! {
    #[test]
    fn texts_come_in(
        values in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..30)), 1..40),
        offset in any::<prop::sample::Index>(),
    ) {
        let offset = offset.index(values.len());
        for format in [c"u", c"U", c"vu"] {
            // SAFETY: an array of that format.
            let texts = unsafe { Texts::new(array_in(format, &values, offset), column_of(format).unwrap()) }.unwrap();
            let read: Vec<Option<Vec<u8>>> = texts.iter().map(|text| text.unwrap().map(<[u8]>::to_vec)).collect();
            prop_assert_eq!(&read, &values[offset..]);
        }
    }
}

#[test]
fn arrays_are_given_back_and_faults_told() {
    let before = RELEASED.load(Ordering::Relaxed);
    let text = || vec![Some(b"text".to_vec())];
    for (change, fault) in [
        (Box::new(|array: &mut Array| array.length = -1) as Box<dyn Fn(&mut Array)>, "length -1"),
        (Box::new(|array| array.offset = -1), "offset -1"),
        (Box::new(|array| array.n_buffers = 1), "1 buffers, expected 3"),
        (Box::new(|array| array.n_children = 1), "1 children, expected 0"),
    ] {
        let mut array = array_in(c"u", &text(), 0);
        change(&mut array);
        // SAFETY: what was changed is checked.
        let error = unsafe { Texts::new(array, column_of(c"u").unwrap()) }.unwrap_err();
        assert_eq!(error, Error::Arrow(format!("malformed Arrow data: {fault}")));
    }
    assert!(RELEASED.load(Ordering::Relaxed) >= before + 4);
    assert!(matches!(column_of(c"i"), Err(Error::Type(message)) if message.ends_with("not int32")));
}
