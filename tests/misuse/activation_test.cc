#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of activation") {
  check_misuses({
      {[] { F::clipped_relu(real({2}), kNaN); }, is<ValueError>, "F::clipped_relu: z is nan: it must be a number"},
      {[] { F::clipped_relu(whole({2})); }, is<TypeError>,
       "F::clipped_relu: x has dtype int32: x.dtype must be floating"},
      {[] { F::clipped_relu(absent); }, is<TypeError>, "F::clipped_relu: x is not given: it is required"},
      {[] { F::relu6(whole({2})); }, is<TypeError>, "F::relu6: x has dtype int32: x.dtype must be floating"},
      {[] { F::relu6(absent); }, is<TypeError>, "F::relu6: x is not given: it is required"},
      {[] {
         F::crelu(real({2, 3}), 2);
       },
       is<IndexError>, "F::crelu: axis 2 is out of range for 2 axes"},
      {[] {
         F::crelu(real({2, 3}), -3);
       },
       is<IndexError>, "F::crelu: axis -3 is out of range for 2 axes"},
      {[] { F::crelu(real({2})); }, is<IndexError>, "F::crelu: axis 1 is out of range for 1 axes"},
      {[] {
         F::crelu(whole({2, 3}));
       },
       is<TypeError>, "F::crelu: x has dtype int32: x.dtype must be floating"},
      {[] { F::crelu(absent); }, is<TypeError>, "F::crelu: x is not given: it is required"},
      {[] { F::elu(whole({2})); }, is<TypeError>, "F::elu: x has dtype int32: x.dtype must be floating"},
      {[] { F::elu(real({2}), kNaN); }, is<ValueError>, "F::elu: alpha is nan: it must be a number"},
      {[] { F::selu(whole({2})); }, is<TypeError>, "F::selu: x has dtype int32: x.dtype must be floating"},
      {[] { F::selu(absent); }, is<TypeError>, "F::selu: x is not given: it is required"},
      {[] { F::hard_sigmoid(whole({2})); }, is<TypeError>,
       "F::hard_sigmoid: x has dtype int32: x.dtype must be floating"},
      {[] { F::leaky_relu(whole({2})); }, is<TypeError>, "F::leaky_relu: x has dtype int32: x.dtype must be floating"},
      {[] { F::leaky_relu(absent); }, is<TypeError>, "F::leaky_relu: x is not given: it is required"},
      {[] { F::leaky_relu(real({2}), kNaN); }, is<ValueError>, "F::leaky_relu: slope is nan: it must be a number"},
      {[] { F::log_softmax(real({2})); }, is<IndexError>, "F::log_softmax: axis 1 is out of range for 1 axes"},
      {[] {
         F::log_softmax(real({2, 3}), 2);
       },
       is<IndexError>, "F::log_softmax: axis 2 is out of range for 2 axes"},
      {[] {
         F::log_softmax(whole({2, 3}));
       },
       is<TypeError>, "F::log_softmax: x has dtype int32: x.dtype must be floating"},
      {[] { F::log_softmax(absent); }, is<TypeError>, "F::log_softmax: x is not given: it is required"},
      {[] {
         F::maxout(real({2, 3}), 2);
       },
       is<ValueError>, "F::maxout: x has shape (2, 3): x.shape[1] must be a multiple of pool_size (2)"},
      {[] {
         F::maxout(real({2, 4}), 0);
       },
       is<ValueError>, "F::maxout: x has shape (2, 4): x.shape[1] must be a multiple of pool_size (0)"},
      {[] {
         F::maxout(real({2, 4}), -2);
       },
       is<ValueError>, "F::maxout: x has shape (2, 4): x.shape[1] must be a multiple of pool_size (-2)"},
      {[] {
         F::maxout(real({2, 4}), 2, 2);
       },
       is<IndexError>, "F::maxout: axis 2 is out of range for 2 axes"},
      {[] { F::maxout(real({2}), 2); }, is<IndexError>, "F::maxout: axis 1 is out of range for 1 axes"},
      {[] {
         F::maxout(whole({2, 4}), 2);
       },
       is<TypeError>, "F::maxout: x has dtype int32: x.dtype must be floating"},
      {[] { F::maxout(absent, 2); }, is<TypeError>, "F::maxout: x is not given: it is required"},
      {[] {
         F::prelu(real({2, 3}), real({4}));
       },
       is<ValueError>,
       "F::prelu: x has shape (2, 3) but W has shape (4,): W must have the sizes of x's axes from axis 1 on"},
      {[] { F::prelu(real({3}), real({3})); }, is<ValueError>,
       "F::prelu: x has shape (3,) but W has shape (3,): W must have the sizes of x's axes from axis 1 on"},
      {[] {
         F::prelu(real({2, 3}), wide({3}));
       },
       is<TypeError>,
       "F::prelu: W has dtype float64 but x has dtype float32: W.dtype must equal x.dtype (float64 != float32)"},
      {[] {
         F::prelu(real({2, 3}), absent);
       },
       is<TypeError>, "F::prelu: W is not given: it is required"},
      {[] { F::prelu(absent, real({3})); }, is<TypeError>, "F::prelu: x is not given: it is required"},
      {[] {
         F::prelu(whole({2, 3}), whole({3}));
       },
       is<TypeError>, "F::prelu: x has dtype int32: x.dtype must be floating"},
      {[] {
         F::prelu(real({2, 3}), real({3, 1}));
       },
       is<ValueError>,
       "F::prelu: x has shape (2, 3) but W has shape (3, 1): W must have the sizes of x's axes from axis 1 on"},
      {[] { F::relu(whole({2})); }, is<TypeError>, "F::relu: x has dtype int32: x.dtype must be floating"},
      {[] { F::relu(absent); }, is<TypeError>, "F::relu: x is not given: it is required"},
      {[] { F::rrelu(real({2}), 0.5, 0.25); }, is<ValueError>,
       "F::rrelu: l is 0.5 and u is 0.25: 0 <= l < u < 1 must hold"},
      {[] { F::rrelu(real({2}), -0.1, 1); }, is<ValueError>,
       "F::rrelu: l is -0.1 and u is 1: 0 <= l < u < 1 must hold"},
      {[] { F::rrelu(real({2}), kNaN, 1); }, is<ValueError>, "F::rrelu: l is nan and u is 1: 0 <= l < u < 1 must hold"},
      {[] { F::rrelu(whole({2})); }, is<TypeError>, "F::rrelu: x has dtype int32: x.dtype must be floating"},
      {[] { F::rrelu(absent); }, is<TypeError>, "F::rrelu: x is not given: it is required"},
      {[] { F::rrelu(real({2}), 0.1, 1, {.r = ones({3})}); }, is<ValueError>,
       "F::rrelu: l is 0.1 and u is 1: 0 <= l < u < 1 must hold"},
      {[] { F::rrelu(real({2}), 0.1, 1, {.r = ones({2}, Dtype::float64)}); }, is<ValueError>,
       "F::rrelu: l is 0.1 and u is 1: 0 <= l < u < 1 must hold"},
      {[] { F::rrelu(real({2}), 0.1, kInfinity); }, is<ValueError>,
       "F::rrelu: l is 0.1 and u is inf: 0 <= l < u < 1 must hold"},
      {[] { F::sigmoid(whole({2})); }, is<TypeError>, "F::sigmoid: x has dtype int32: x.dtype must be floating"},
      {[] { F::sigmoid(absent); }, is<TypeError>, "F::sigmoid: x is not given: it is required"},
      {[] { F::softmax(real({2})); }, is<IndexError>, "F::softmax: axis 1 is out of range for 1 axes"},
      {[] {
         F::softmax(real({2, 3}), -3);
       },
       is<IndexError>, "F::softmax: axis -3 is out of range for 2 axes"},
      {[] {
         F::softmax(whole({2, 3}));
       },
       is<TypeError>, "F::softmax: x has dtype int32: x.dtype must be floating"},
      {[] { F::softmax(absent); }, is<TypeError>, "F::softmax: x is not given: it is required"},
      {[] { F::softplus(whole({2})); }, is<TypeError>, "F::softplus: x has dtype int32: x.dtype must be floating"},
      {[] { F::softplus(real({2}), 0); }, is<ValueError>, "F::softplus: beta is 0: it must not be 0"},
      {[] { F::softplus(real({2}), kNaN); }, is<ValueError>, "F::softplus: beta is nan: it must be a number"},
      {[] { F::softplus(absent); }, is<TypeError>, "F::softplus: x is not given: it is required"},
      {[] {
         F::swish(real({2, 3}), real({2}));
       },
       is<ValueError>,
       "F::swish: x has shape (2, 3) but beta has shape (2,): beta must have the sizes of x's axes from axis 1 on"},
      {[] {
         F::swish(real({2, 3}), wide({3}));
       },
       is<TypeError>,
       "F::swish: beta has dtype float64 but x has dtype float32: beta.dtype must equal x.dtype (float64 != float32)"},
      {[] {
         F::swish(whole({2, 3}), whole({3}));
       },
       is<TypeError>, "F::swish: x has dtype int32: x.dtype must be floating"},
      {[] {
         F::swish(real({2, 3}), absent);
       },
       is<TypeError>, "F::swish: beta is not given: it is required"},
      {[] { F::swish(absent, real({3})); }, is<TypeError>, "F::swish: x is not given: it is required"},
      {[] { F::swish(real({3}), real({3})); }, is<ValueError>,
       "F::swish: x has shape (3,) but beta has shape (3,): beta must have the sizes of x's axes from axis 1 on"},
      {[] { F::tanh(whole({2})); }, is<TypeError>, "F::tanh: x has dtype int32: x.dtype must be floating"},
      {[] { F::tanh(absent); }, is<TypeError>, "F::tanh: x is not given: it is required"},
      {[] { F::exp(whole({2})); }, is<TypeError>, "F::exp: x has dtype int32: x.dtype must be floating"},
      {[] { F::exp(absent); }, is<TypeError>, "F::exp: x is not given: it is required"},
      {[] { F::log(whole({2})); }, is<TypeError>, "F::log: x has dtype int32: x.dtype must be floating"},
      {[] { F::log(absent); }, is<TypeError>, "F::log: x is not given: it is required"},
      {[] { F::max(real({2}), 1); }, is<IndexError>, "F::max: axis 1 is out of range for 1 axes"},
      {[] { F::max(real({0})); }, is<ValueError>, "F::max: x has shape (0,): an axis without elements has no extreme"},
      {[] {
         F::max(real({2, 3}), {0, 0});
       },
       is<ValueError>, "F::max: axis 0 comes twice"},
      {[] { F::max(absent); }, is<TypeError>, "F::max: x is not given: it is required"},
      {[] {
         F::max(real({2, 0}), 1);
       },
       is<ValueError>, "F::max: x has shape (2, 0): an axis without elements has no extreme"},
      {[] { F::min(real({2}), -2); }, is<IndexError>, "F::min: axis -2 is out of range for 1 axes"},
      {[] { F::min(real({0})); }, is<ValueError>, "F::min: x has shape (0,): an axis without elements has no extreme"},
      {[] { F::min(absent); }, is<TypeError>, "F::min: x is not given: it is required"},
      {[] { F::sum(real({2}), 1); }, is<IndexError>, "F::sum: axis 1 is out of range for 1 axes"},
      {[] {
         F::sum(real({2, 2}), {0, 0});
       },
       is<ValueError>, "F::sum: axis 0 comes twice"},
      {[] { F::sum(absent); }, is<TypeError>, "F::sum: x is not given: it is required"},
  });
}

}  // namespace
}  // namespace kusari::misuse
