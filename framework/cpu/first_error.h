#pragma once

#include <atomic>
#include <exception>

namespace kusari::cpu {

/// Carries the first exception out of a parallel region.
class FirstError {
 public:
  template <class Body>
  void run(const Body& body) noexcept {
    try {
      body();
    } catch (...) {
      if (!seen_.exchange(true)) error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::atomic<bool> seen_{false};
  std::exception_ptr error_;
};

}  // namespace kusari::cpu
