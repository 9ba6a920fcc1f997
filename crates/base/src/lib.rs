//! What every other crate stands on: data types, shapes, scalars, errors, settings, random numbers, the thread pool.
//! Nothing here knows about arrays, devices or Python.
pub mod dtype;
pub mod error;
pub mod isa;
pub mod philox;
pub mod pool;
pub mod profiler;
pub mod scalar;
pub mod settings;
pub mod shape;
pub mod site;
pub mod tls;

pub use dtype::DType;
pub use error::{Cause, Error, Result};
pub use philox::Ticket;
pub use scalar::Scalar;
pub use shape::{Dims, MAX_DIMS, too_many_dims};
pub use site::Site;
