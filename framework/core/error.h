#pragma once

#include <stdexcept>
#include <string>

#include "kusari/framework/core/export.h"

namespace kusari {

/// Base of everything that Kusari throws. what() names the call, the argument, what was expected and what came.
class KUSARI_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message);
  ~Error() override;
};

/// Shapes, dtypes or devices of arguments that do not fit together.
class KUSARI_API TypeError : public Error {
 public:
  explicit TypeError(const std::string& message);
  ~TypeError() override;
};

/// An argument's value is out of its range.
class KUSARI_API ValueError : public Error {
 public:
  explicit ValueError(const std::string& message);
  ~ValueError() override;
};

/// An index lies outside its axis.
class KUSARI_API IndexError : public Error {
 public:
  explicit IndexError(const std::string& message);
  ~IndexError() override;
};

/// A name (parameter path, configuration entry, key of a snapshot) that does not exist.
class KUSARI_API KeyError : public Error {
 public:
  explicit KeyError(const std::string& message);
  ~KeyError() override;
};

/// A file that cannot be read or written, or holds something else than its name promises.
class KUSARI_API IoError : public Error {
 public:
  explicit IoError(const std::string& message);
  ~IoError() override;
};

/// Memory is exhausted; what() states what was asked for, held and free.
class KUSARI_API OutOfMemoryError : public Error {
 public:
  explicit OutOfMemoryError(const std::string& message);
  ~OutOfMemoryError() override;
};

/// A device, backend or kernel that this build or machine does not have.
class KUSARI_API DeviceError : public Error {
 public:
  explicit DeviceError(const std::string& message);
  ~DeviceError() override;
};

/// A worker thread or process that prepares examples was killed, ended by itself or took too long.
class KUSARI_API WorkerError : public Error {
 public:
  explicit WorkerError(const std::string& message);
  ~WorkerError() override;
};

/// A call at a time when it makes no sense (backward without a graph, a finished iterator read, ...).
class KUSARI_API StateError : public Error {
 public:
  explicit StateError(const std::string& message);
  ~StateError() override;
};

}  // namespace kusari
