#pragma once

#include <string>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/export.h"

// Helpers for the tests of programs, whatever their test framework: what fails is an exception whose text says how.
// They are in no header of all, because other libraries have a namespace of this name: #include
// <kusari/framework/testing/testing.h>.
namespace kusari::testing {

/// What a helper found wrong.
class KUSARI_API TestError : public Error {
 public:
  explicit TestError(const std::string& message);
  ~TestError() override;
};

struct Tolerance {
  double atol = 1e-5;
  double rtol = 1e-4;
};

/// Throws TestError, which names the worst element, unless |x - y| <= atol + rtol |y| everywhere; NaN equals NaN.
/// Shapes must be equal, dtypes and devices need not. chainer.testing.assert_allclose.
KUSARI_API void assert_allclose(const Array& x, const Array& y, const Tolerance& tolerance = {});
inline void assert_allclose(const Variable& x, const Variable& y, const Tolerance& tolerance = {}) {
  assert_allclose(x.array(), y.array(), tolerance);
}

}  // namespace kusari::testing
