use rustix::fs::StatFs;

/// What a folder lies on, as far as locks and counters care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// A disk of this machine.
    Local,
    /// Gone at the next boot.
    Memory,
    /// Other machines may have it too.
    Network(&'static str),
}

impl Medium {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn of(stat: &StatFs) -> Self {
        // The type's width and sign differ between architectures; the numbers have 32 bits.
        Self::of_magic(stat.f_type as u32)
    }

    #[cfg(target_vendor = "apple")]
    pub(crate) fn of(stat: &StatFs) -> Self {
        const MNT_LOCAL: u32 = 0x1000;
        if stat.f_flags & MNT_LOCAL == 0 {
            Self::Network("a network file system")
        } else {
            Self::Local
        }
    }

    /// Elsewhere it cannot be told.
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    pub(crate) fn of(_: &StatFs) -> Self {
        Self::Local
    }

    /// The numbers of Linux's `statfs(2)` and `include/uapi/linux/magic.h`.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const fn of_magic(magic: u32) -> Self {
        match magic {
            0x0102_1994 | 0x8584_58f6 => Self::Memory,
            0x0000_6969 => Self::Network("NFS"),
            0x0000_517b | 0xff53_4d42 | 0xfe53_4d42 => Self::Network("SMB"),
            // Some are local; which, the kernel does not know.
            0x6573_5546 => Self::Network("FUSE"),
            0x0102_1997 => Self::Network("9P"),
            0x00c3_6400 => Self::Network("Ceph"),
            0x5346_414f | 0x6b41_4653 => Self::Network("AFS"),
            0x7375_7245 => Self::Network("Coda"),
            0x0000_564c => Self::Network("NCP"),
            0x0bd0_0bd0 => Self::Network("Lustre"),
            0x4750_4653 => Self::Network("GPFS"),
            0x0116_1970 => Self::Network("GFS2"),
            0x7461_636f => Self::Network("OCFS2"),
            0x786f_4256 => Self::Network("a VirtualBox shared folder"),
            _ => Self::Local,
        }
    }
}

#[cfg(all(test, any(target_os = "linux", target_os = "android")))]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_told_from_disks_and_memory() {
        assert_eq!(Medium::of_magic(0xef53), Medium::Local, "ext4");
        assert_eq!(Medium::of_magic(0x5846_5342), Medium::Local, "XFS");
        assert_eq!(Medium::of_magic(0x9123_683e), Medium::Local, "Btrfs");
        assert_eq!(Medium::of_magic(0x794c_7630), Medium::Local, "OverlayFS");
        assert_eq!(Medium::of_magic(0x0102_1994), Medium::Memory, "tmpfs");
        assert_eq!(Medium::of_magic(0x6969), Medium::Network("NFS"));
        assert_eq!(Medium::of_magic(0xff53_4d42), Medium::Network("SMB"));
        assert_eq!(Medium::of_magic(0x6573_5546), Medium::Network("FUSE"));
    }

    /// The numbers above are worth nothing if `of` reads another field.
    #[test]
    fn the_kernel_tells_the_number() {
        let stat = rustix::fs::statfs("/proc").unwrap();
        assert_eq!(stat.f_type as u32, 0x9fa0);
    }
}
