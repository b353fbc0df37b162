#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: core") {
  check_misuses({
      {[] { static_cast<void>(empty({-1})); }, is<ValueError>,
       "empty: shape is (-1,): no size of it may be negative (axis 0 has -1)"},
      {[] {
         static_cast<void>(array(std::vector<double>{1, 2}, {3}));
       },
       is<TypeError>, "array: 2 values do not fill shape (3,)"},
      {[] { static_cast<void>(arange(-1)); }, is<ValueError>, "arange: n is -1: it must not be negative"},
      {[] { static_cast<void>(ones({2}).item<float>()); }, is<ValueError>,
       "item: the array has shape (2,), not exactly one element"},
      {[] { static_cast<void>(ones({2}).reshape({3})); }, is<TypeError>,
       "reshape: the array has shape (2,) but shape is (3,): it must hold as many elements (2)"},
      {[] { static_cast<void>(ones({2}).slice(1, 0, 1)); }, is<IndexError>, "slice: axis 1 is out of range for 1 axes"},
      {[] { static_cast<void>(ones({2}).slice(0, 0, 5)); }, is<IndexError>,
       "slice: start is 0, count 5 and step 1: all elements must lie in axis 0 of shape (2,)"},
      {[] { static_cast<void>(ones({2}).slice(0, -1, 1)); }, is<IndexError>,
       "slice: start is -1, count 1 and step 1: all elements must lie in axis 0 of shape (2,)"},
      {[] { static_cast<void>(ones({2}).squeeze(0)); }, is<TypeError>,
       "squeeze: axis 0 of shape (2,) has size 2, not 1"},
      {[] {
         static_cast<void>(ones({2, 3}).transpose({0, 0}));
       },
       is<ValueError>, "transpose: axes (0, 0) are not a permutation of the 2 axes"},
      {[] { static_cast<void>(ones({2}).copy_from(ones({3}))); }, is<TypeError>,
       "broadcast_to: shape (3,) does not broadcast to (2,)"},
      {[] { static_cast<void>(get_device("gpu")); }, is<ValueError>,
       "get_device: 'gpu' is not a device; expected 'cpu' or 'cuda:N'"},
      {[] { static_cast<void>(get_device("")); }, is<ValueError>,
       "get_device: '' is not a device; expected 'cpu' or 'cuda:N'"},
      {[] { static_cast<void>(get_device("cuda:-1")); }, is<ValueError>,
       "get_device: 'cuda:-1' is not a device; expected 'cpu' or 'cuda:N'"},
      {[] { static_cast<void>(get_device("cuda:99999999999999999999")); }, is<ValueError>,
       "get_device: 'cuda:99999999999999999999' is not a device; expected 'cpu' or 'cuda:N'"},
      {[] { real({2}).backward(); }, is<ValueError>,
       "Variable::backward: the variable has shape (2,) and no gradient; set one first, or start from a single "
       "element"},
      {[] { absent.backward(); }, is<StateError>,
       "Variable::backward: the variable is undefined: there is nothing to start from"},
      {[] { static_cast<void>(absent.shape()); }, is<StateError>,
       "Variable: the variable is undefined (an argument that was not given, or no gradient): it has no array"},
      {[] { static_cast<void>(absent.dtype()); }, is<StateError>,
       "Variable: the variable is undefined (an argument that was not given, or no gradient): it has no array"},
      {[] { static_cast<void>(absent.to_vector<double>()); }, is<StateError>,
       "Variable: the variable is undefined (an argument that was not given, or no gradient): it has no array"},
      {[] { static_cast<void>(absent.device()); }, is<StateError>,
       "Variable: the variable is undefined (an argument that was not given, or no gradient): it has no array"},
      {[] { static_cast<void>(absent.grad()); }, is<StateError>,
       "Variable: the variable is undefined (an argument that was not given, or no gradient): it has no array"},
      {[] {
         Variable v = real({2});
         v.set_grad(ones({3}));
       },
       is<TypeError>,
       "Variable::set_grad: the gradient has shape (3,) and dtype float32 but the variable has (2,) and float32"},
      {[] {
         Variable v = real({2});
         v.set_grad(ones({2}, Dtype::float64));
       },
       is<TypeError>,
       "Variable::set_grad: the gradient has shape (2,) and dtype float64 but the variable has (2,) and float32"},
      {[] { static_cast<void>(grad({absent}, {real({2})})); }, is<TypeError>,
       "grad: the variable is undefined: there is nothing to start from"},
      {[] { backward(std::span<const Variable>(&absent, 1)); }, is<TypeError>,
       "backward: the variable is undefined: there is nothing to start from"},
      {[] {
         const Variable outputs[] = {F::sum(real({2})), absent};
         backward(outputs);
       },
       is<TypeError>, "backward: outputs[1] is undefined: there is nothing to start from"},
      {[] { Variable(Array()).backward(); }, is<StateError>,
       "Variable::backward: the variable has no array (an uninitialised parameter?)"},
      {[] { static_cast<void>(grad({F::sum(real({2}))}, {absent})); }, is<TypeError>,
       "grad: an input is not given: all must be variables of the graph"},
      {[] {
         static_cast<void>(real({2, 3}).shape(2));
       },
       is<IndexError>, "Array::shape: axis 2 is out of range for 2 axes"},
      {[] {
         gradient_check::check_backward([](const Variable& v) { return F::sum(v) * 0 + v; }, ones({2}, Dtype::float64),
                                        ones({3}, Dtype::float64));
       },
       is<TypeError>, "gradient_check::check_backward: gy[0] has shape (3,) but the output has shape (2,)"},
      {[] { gradient_check::check_backward([](const Variable& v) { return v; }, ones({2}, Dtype::int32)); },
       is<ValueError>, "gradient_check::check_backward: no input or param has a gradient"},
  });
}

}  // namespace
}  // namespace kusari::misuse
