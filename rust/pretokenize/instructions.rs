//! Which vector instructions the processor has, seen as the program runs.

/// Some that this processor has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instructions(Kind);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// AVX-512 with VBMI and VBMI2, and those of AVX2.
    Avx512,
    /// AVX2, BMI1, BMI2, POPCNT.
    Avx2,
    /// What every processor has.
    Any,
}

impl Instructions {
    /// The fastest.
    #[inline]
    pub fn best() -> Self {
        Self::all().next().unwrap_or(Instructions(Kind::Any))
    }

    /// Every kind that this processor has, the fastest first.
    #[inline]
    pub fn all() -> impl Iterator<Item = Self> {
        [Kind::Avx512, Kind::Avx2, Kind::Any].into_iter().filter(|kind| kind.is_here()).map(Instructions)
    }

    #[inline]
    pub fn kind(self) -> Kind {
        self.0
    }
}

impl Kind {
    /// Whether this processor has them.
    #[cfg(all(target_arch = "x86_64", not(bpeline_portable)))]
    #[inline]
    pub fn is_here(self) -> bool {
        match self {
            Kind::Any => true,
            Kind::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("popcnt")
            }
            Kind::Avx512 => {
                Kind::Avx2.is_here()
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vbmi")
                    && is_x86_feature_detected!("avx512vbmi2")
            }
        }
    }

    #[cfg(not(all(target_arch = "x86_64", not(bpeline_portable))))]
    pub fn is_here(self) -> bool {
        self == Kind::Any
    }
}
