#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: links") {
  check_misuses({
      {[] {
         L::Linear(3, 2)(real({2, 4}));
       },
       is<TypeError>,
       "F::linear: x has shape (2, 4) but W has shape (2, 3): x.shape[1] must equal W.shape[1] (4 != 3)"},
      {[] { L::Linear(3, -5); }, is<ValueError>, "L::Linear: out_size is -5: it must not be negative"},
      {[] { L::Linear(-3, 2); }, is<ValueError>,
       "L::Linear: in_size is -3: it must not be negative unless it is kInfer (-1)"},
      {[] { L::Linear(3, 2)(absent); }, is<TypeError>, "F::linear: x is not given: it is required"},
      {[] {
         L::Linear(3, 2)(real({2, 3}), 0);
       },
       is<ValueError>, "F::linear: n_batch_axes is 0 but x has shape (2, 3): it must be at least 1 and at most x.ndim"},
      {[] {
         L::Linear(3, 2)(whole({2, 3}));
       },
       is<TypeError>, "F::linear: x has dtype int32: x.dtype must be floating"},
      {[] { L::Linear(2)(absent); }, is<TypeError>, "F::linear: x is not given: it is required"},
      {[] { L::Linear::from_params(ones({3})); }, is<ValueError>,
       "L::Linear::from_params: W has shape (3,) but must have 2 axes"},
      {[] {
         L::Linear::from_params(ones({3, 2}), ones({4}));
       },
       is<ValueError>, "L::Linear::from_params: b has shape (4,) but W has 3 outputs: b.shape must be (3,)"},
      {[] { L::Linear::from_params(Array()); }, is<ValueError>,
       "L::Linear::from_params: W has no numbers but must have 2 axes"},
      {[] { L::EmbedID(3, 2)(real({2})); }, is<TypeError>,
       "F::embed_id: x has dtype float32: x.dtype must be an integer or bool"},
      {[] { L::EmbedID(1, 2)(whole({2})); }, is<IndexError>,
       "F::embed_id: index 1 is out of range for an axis of size 1"},
      {[] { L::EmbedID(3, 2)(absent); }, is<TypeError>, "F::embed_id: x is not given: it is required"},
      {[] {
         L::ConvolutionND::from_params(ones({3, 2, 1, 1}), ones({3}), {.groups = int64_t{1} << 62});
       },
       is<ValueError>,
       "L::Convolution2D::from_params: groups is 4611686018427387904: 2 times that is more than an int64 holds"},
      {[] { L::EmbedID::from_params(ones({2})); }, is<ValueError>,
       "L::EmbedID::from_params: W has shape (2,) but must have 2 axes"},
      {[] {
         L::Convolution2D(3, 4, 3)(real({1, 2, 5, 5}));
       },
       is<TypeError>,
       "F::convolution_2d: x has shape (1, 2, 5, 5) but W has shape (4, 3, 3, 3): x.shape[1] must equal W.shape[1] (2 "
       "!= 3)"},
      {[] { L::Convolution2D(3, 4, 0); }, is<ValueError>, "L::Convolution2D: ksize is (0,): each must be at least 1"},
      {[] { L::Convolution2D(3, 4, 3, {.groups = 2}); }, is<ValueError>,
       "L::Convolution2D: in_channels is 3 but groups is 2: it must be a multiple of groups"},
      {[] { L::Convolution2D(3, -4, 3); }, is<ValueError>,
       "L::Convolution2D: out_channels is -4: it must not be negative"},
      {[] { L::Convolution2D(3, 4, 3)(absent); }, is<TypeError>, "F::convolution_2d: x is not given: it is required"},
      {[] { L::Convolution2D(4, 3)(absent); }, is<TypeError>, "L::Convolution2D: x is not given: it is required"},
      {[] { L::Convolution2D(4, 3)(real({3})); }, is<TypeError>,
       "L::Convolution2D: x has shape (3,): x.ndim must be 4"},
      {[] { L::ConvolutionND(0, 3, 4, 3); }, is<ValueError>, "L::ConvolutionND: ndim is 0: it must be 1 .. 6"},
      {[] { L::ConvolutionND(9, 3, 4, 3); }, is<ValueError>, "L::ConvolutionND: ndim is 9: it must be 1 .. 6"},
      {[] {
         L::Deconvolution2D(3, 4, 3)(real({1, 2, 5, 5}));
       },
       is<TypeError>,
       "F::deconvolution_2d: x has shape (1, 2, 5, 5) but W has shape (3, 4, 3, 3): x.shape[1] must equal W.shape[0] "
       "(2 != 3)"},
      {[] { L::Deconvolution2D(4, 3)(absent); }, is<TypeError>, "L::Deconvolution2D: x is not given: it is required"},
      {[] {
         L::BatchNormalization(3)(real({2, 4}));
       },
       is<TypeError>,
       "F::batch_normalization: gamma has shape (3,) but x has shape (2, 4): gamma.shape[0] must equal x.shape[1] (3 "
       "!= 4)"},
      {[] { L::BatchNormalization(3)(absent); }, is<TypeError>,
       "F::batch_normalization: x is not given: it is required"},
      {[] { L::BatchNormalization(-1)(absent); }, is<TypeError>,
       "L::BatchNormalization: x is not given: it is required"},
      {[] { L::BatchNormalization(kInfer, {.use_gamma = false})(real({4})); }, is<TypeError>,
       "L::BatchNormalization: x has shape (4,): it must have an axis for each size that is to be inferred"},
      {[] { L::BatchRenormalization(kInfer, {.use_beta = false})(real({})); }, is<TypeError>,
       "L::BatchRenormalization: x has shape (): it must have an axis for each size that is to be inferred"},
      {[] { L::BinaryTree(7).left(); }, is<StateError>, "BinaryTree: word 7 is a leaf: it has no branches"},
      {[] { L::BinaryTree(int64_t{1} << 31); }, is<ValueError>,
       "BinaryTree: word 2147483648 must be less than 2^31: there is a row for each"},
      {[] { L::BatchNormalization(-3); }, is<ValueError>,
       "L::BatchNormalization: size is -3: it must not be negative unless it is kInfer (-1)"},
      {[] {
         L::GroupNormalization(2, 3)(real({2, 3}));
       },
       is<ValueError>, "F::group_normalization: groups is 2 but x has shape (2, 3): groups must divide x.shape[1]"},
      {[] { L::GroupNormalization(0, 3); }, is<ValueError>,
       "L::GroupNormalization: group_count is 0: it must be positive"},
      {[] { L::GroupNormalization(2)(absent); }, is<TypeError>,
       "F::group_normalization: x is not given: it is required"},
      {[] {
         L::LayerNormalization(3)(real({2, 4}));
       },
       is<TypeError>,
       "F::layer_normalization: gamma has shape (3,) but x has shape (2, 4): gamma.shape[0] must equal x.shape[1] (3 "
       "!= 4)"},
      {[] { L::LayerNormalization()(absent); }, is<TypeError>,
       "F::layer_normalization: x is not given: it is required"},
      {[] { L::Maxout(3, 2, 0); }, is<ValueError>, "L::Maxout: pool_size is 0: it must be positive"},
      {[] { L::Maxout(3, 2, 2)(absent); }, is<TypeError>, "F::linear: x is not given: it is required"},
      {[] { L::PReLU()(absent); }, is<TypeError>, "F::prelu: x is not given: it is required"},
      {[] {
         L::Bilinear(2, 3, 4)(real({2, 2}), absent);
       },
       is<TypeError>, "F::bilinear: e2 is not given: it is required"},
      {[] { L::NegativeSampling(3, {}, 2); }, is<ValueError>,
       "WalkerAlias: probs sum to 0: at least one must be positive"},
      {[] {
         L::NegativeSampling(3, {1, 1}, -2);
       },
       is<ValueError>, "L::NegativeSampling: sample_size is -2: it must not be negative"},
      {[] {
         L::NegativeSampling(3, {1, 1}, 2)(absent, absent);
       },
       is<TypeError>, "F::negative_sampling: x is not given: it is required"},
      {[] { L::BlackOut(3, {}, 2); }, is<ValueError>, "WalkerAlias: probs sum to 0: at least one must be positive"},
      {[] {
         Net net;
         net.remove_member("nope");
       },
       is<KeyError>, "Link::remove_member: no member named 'nope'"},
      {[] {
         Net net;
         net.add_persistent("l", ones({2}));
       },
       is<ValueError>, "Link: there is already a member named 'l'"},
      {[] {
         Net net;
         net.copyparams(*std::make_unique<L::Linear>(3, 2));
       },
       is<KeyError>, "Link::copyparams: this link has /l/W where the other has /W"},
      {[] {
         Net net;
         net.addgrads(*std::make_unique<L::Linear>(3, 2));
       },
       is<KeyError>, "Link::addgrads: this link has /l/W where the other has /W"},
      {[] { Parameter(Shape{-5}); }, is<ValueError>,
       "Parameter: shape is (-5,): a size must not be negative unless it is kInfer (-1)"},
      {[] {
         Parameter p(Shape{kInfer, 2});
         F::softmax(p);
       },
       is<StateError>, "F::softmax: x has no array (an uninitialised parameter?)"},
      {[] {
         Parameter p(Shape{kInfer, 2});
         F::relu(p);
       },
       is<StateError>, "F::relu: argument 0 has no array (an uninitialised parameter?)"},
      {[] {
         Parameter p(Shape{kInfer, 2});
         p.initialize({3, 3});
       },
       is<ValueError>,
       "Parameter::initialize: the parameter was declared with shape (-1, 2), which (3, 3) does not fit"},
      {[] {
         Parameter p(Shape{kInfer, 2});
         p.grad();
       },
       is<StateError>, "Parameter::grad: the parameter has no shape yet; use it once, or call cleargrad() first"},
      {[] {
         Sequential s;
         s(real({2}));
       },
       is<StateError>, "Sequential: it has no layers"},
      {[] {
         Sequential s(L::Linear(2), L::Linear(3));
         s.erase(5);
       },
       is<IndexError>, "Sequential: there is no place 5 among 2"},
      {[] {
         ChainDict<L::Linear> d;
         d.at("a");
       },
       is<KeyError>, "ChainDict: no link named 'a'; there are none"},
      {[] {
         ChainDict<L::Linear> d;
         d.add_link("a/b", L::Linear(2));
       },
       is<ValueError>, "ChainDict: 'a/b' is no name for a link: it must not be empty or contain '/'"},
      {[] {
         ChainDict<L::Linear> d;
         d.add_link("a", L::Linear(2));
         d.add_link("a", L::Linear(2));
       },
       is<ValueError>, "ChainDict: there is a link named 'a'"},
  });
}

}  // namespace
}  // namespace kusari::misuse
