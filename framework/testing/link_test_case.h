#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kusari/framework/autograd/gradient_check.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/testing/assert_allclose.h"

namespace kusari::testing {

/// chainer.testing.LinkTestError.
class KUSARI_API LinkTestError : public TestError {
 public:
  explicit LinkTestError(const std::string& message);
  ~LinkTestError() override;
};

/// The test of a link: derive, say how it is made and called and what is expected of it, and call run(). Each test
/// throws LinkTestError. chainer.testing.LinkTestCase.
class KUSARI_API LinkTestCase {
 public:
  LinkTestCase() = default;
  LinkTestCase(const LinkTestCase&) = delete;
  LinkTestCase& operator=(const LinkTestCase&) = delete;
  virtual ~LinkTestCase();

  void run();
  /// Results against the expected ones.
  void run_test_forward();
  /// Gradients of inputs and parameters against differences, in float64.
  void run_test_backward();
  /// A second link that takes the first one's values through an .npz file has the same parameters and persistent
  /// values, to the bit.
  void run_test_serialization();

  /// Those that gradients are checked for; all of the link when empty: "/l1/W".
  std::vector<std::string> param_names = {};
  Tolerance check_forward_options = {.atol = 1e-5, .rtol = 1e-4};
  gradient_check::BackwardOptions check_backward_options = {};
  bool skip_backward_test = false;
  bool skip_serialization_test = false;

 protected:
  /// A new link, with values of its own.
  virtual std::unique_ptr<Link> create_link() = 0;
  virtual Arrays generate_inputs() = 0;
  virtual Variables forward(Link& link, const Variables& inputs) = 0;
  virtual Arrays forward_expected(Link& link, const Arrays& inputs) = 0;
};

}  // namespace kusari::testing
