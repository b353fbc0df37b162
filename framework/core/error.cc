#include "kusari/framework/core/error.h"

namespace kusari {

// Destructors live here so that each type has one vtable and one type_info, in the library.
Error::Error(const std::string& message) : std::runtime_error(message) {}
Error::~Error() = default;
TypeError::TypeError(const std::string& message) : Error(message) {}
TypeError::~TypeError() = default;
ValueError::ValueError(const std::string& message) : Error(message) {}
ValueError::~ValueError() = default;
IndexError::IndexError(const std::string& message) : Error(message) {}
IndexError::~IndexError() = default;
KeyError::KeyError(const std::string& message) : Error(message) {}
KeyError::~KeyError() = default;
IoError::IoError(const std::string& message) : Error(message) {}
IoError::~IoError() = default;
OutOfMemoryError::OutOfMemoryError(const std::string& message) : Error(message) {}
OutOfMemoryError::~OutOfMemoryError() = default;
DeviceError::DeviceError(const std::string& message) : Error(message) {}
DeviceError::~DeviceError() = default;
WorkerError::WorkerError(const std::string& message) : Error(message) {}
WorkerError::~WorkerError() = default;
StateError::StateError(const std::string& message) : Error(message) {}
StateError::~StateError() = default;

}  // namespace kusari
