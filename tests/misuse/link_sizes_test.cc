#include <limits>

#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
const std::string kNegative = ": it must not be negative";
const std::string kNegativeOrInfer = ": it must not be negative unless it is kInfer (-1)";

struct SizeCase {
  void (*make)();
  std::string text;
};

// -1 is kInfer, which stands for the sizes that the first batch gives, and for no others.
TEST_CASE("misuse: sizes of links") {
  for (const auto& [make, text] : std::initializer_list<SizeCase>{
           {[] { L::Linear(3, -1); }, "L::Linear: out_size is -1" + kNegative},
           {[] { L::Linear(-1); }, "L::Linear: out_size is -1" + kNegative},
           {[] { L::Linear(-2, 3); }, "L::Linear: in_size is -2" + kNegativeOrInfer},
           {[] { L::EmbedID(-1, 2); }, "L::EmbedID: in_size is -1" + kNegative},
           {[] { L::EmbedID(3, -1); }, "L::EmbedID: out_size is -1" + kNegative},
           {[] { L::Bilinear(-1, 2, 3); }, "L::Bilinear: left_size is -1" + kNegative},
           {[] { L::Bilinear(1, -2, 3); }, "L::Bilinear: right_size is -2" + kNegative},
           {[] { L::Bilinear(1, 2, -1); }, "L::Bilinear: out_size is -1" + kNegative},
           {[] { L::Bias({.shape = Shape{-1}}); }, "L::Bias: shape is (-1,): no size of it may be negative"},
           {[] {
              L::Scale({.w_shape = Shape{2, -2}});
            },
            "L::Scale: w_shape is (2, -2): no size of it may be negative"},
           {[] { L::Scale({.bias_term = true, .bias_shape = Shape{-1}}); },
            "L::Scale: bias_shape is (-1,): no size of it may be negative"},
           {[] { L::Highway(-1); }, "L::Highway: in_out_size is -1" + kNegative},
           {[] { L::Convolution1D(3, -1, 3); }, "L::Convolution1D: out_channels is -1" + kNegative},
           {[] { L::Convolution2D(-2, 4, 3); }, "L::Convolution2D: in_channels is -2" + kNegativeOrInfer},
           {[] { L::Convolution3D(3, 4, -1); }, "L::Convolution3D: ksize is (-1,): each must be at least 1"},
           {[] { L::ConvolutionND(4, 3, 4, 0); }, "L::ConvolutionND: ksize is (0,): each must be at least 1"},
           {[] { L::Convolution2D(3, 4, 3, {.groups = 0}); }, "L::Convolution2D: groups is 0: it must be positive"},
           {[] { L::DilatedConvolution2D(3, -1, 3); }, "L::Convolution2D: out_channels is -1" + kNegative},
           {[] { L::Deconvolution2D(3, -1, 3); }, "L::Deconvolution2D: out_channels is -1" + kNegative},
           {[] { L::Deconvolution1D(-2, 4, 3); }, "L::Deconvolution1D: in_channels is -2" + kNegativeOrInfer},
           {[] { L::DepthwiseConvolution2D(3, -1, 3); },
            "L::DepthwiseConvolution2D: channel_multiplier is -1" + kNegative},
           {[] { L::DepthwiseConvolution2D(-2, 1, 3); },
            "L::DepthwiseConvolution2D: in_channels is -2" + kNegativeOrInfer},
           {[] { L::LocalConvolution2D(3, -1, 5, 3); }, "L::LocalConvolution2D: out_channels is -1" + kNegative},
           {[] { L::LocalConvolution2D(-2, 4, 5, 3); }, "L::LocalConvolution2D: in_channels is -2" + kNegativeOrInfer},
           {[] { L::LocalConvolution2D(3, 4, -2, 3); },
            "L::LocalConvolution2D: in_size is -2: it must be at least ksize (3)"},
           {[] { L::DeformableConvolution2D(3, -1, 3); }, "L::DeformableConvolution2D: out_channels is -1" + kNegative},
           {[] { L::DeformableConvolution2D(3, 4, 0); },
            "L::DeformableConvolution2D: ksize is (0,): each must be at least 1"},
           {[] { L::DeformableConvolution2DSampler(-2, 4, 3); },
            "L::DeformableConvolution2DSampler: in_channels is -2" + kNegativeOrInfer},
           {[] {
              L::MLPConvolution2D(3, {4, -1}, 3);
            },
            "L::MLPConvolution2D: out_channels is -1" + kNegative},
           {[] { L::MLPConvolution2D(3, {}, 3); },
            "L::MLPConvolution2D: out_channels is empty: it must have a number for each convolution"},
           {[] { L::Inception(3, {.out1 = -1}); }, "L::Inception: out1 is -1" + kNegative},
           {[] { L::Inception(-2, {.out1 = 1}); }, "L::Inception: in_channels is -2" + kNegativeOrInfer},
           {[] { L::InceptionBN(3, {.out33 = -1}); }, "L::InceptionBN: out33 is -1" + kNegative},
           {[] { L::InceptionBN(3, {.out1 = -1}); }, "L::InceptionBN: out1 is -1" + kNegative},
           {[] { L::StatelessMGU(3, kMost); },
            "L::MGU: n_units is 9223372036854775807: it must be less, so that an int64 holds the sum with n_inputs"},
           {[] { L::NStepWeights(-kMost, 3, 4, {}); },
            "L::NStepWeights: gates is -9223372036854775807: it must be 1 to 4"},
           {[] { L::Maxout(3, -1, 2); }, "L::Maxout: out_size is -1" + kNegative},
           {[] { L::Maxout(-2, 1, 2); }, "L::Maxout: in_size is -2" + kNegativeOrInfer},
           {[] { L::PReLU({.shape = {-1}}); }, "L::PReLU: shape is (-1,): no size of it may be negative"},
           {[] { L::SimplifiedDropconnect(3, -1); }, "L::SimplifiedDropconnect: out_size is -1" + kNegative},
           {[] { L::SimplifiedDropconnect(-2, 1); }, "L::SimplifiedDropconnect: in_size is -2" + kNegativeOrInfer},
           {[] { L::Swish(Shape{-3}); },
            "Parameter: shape is (-3,): a size must not be negative unless it is kInfer (-1)"},
           {[] {
              L::BlackOut(-1, {1, 2}, 2);
            },
            "L::BlackOut: in_size is -1" + kNegative},
           {[] {
              L::BlackOut(3, {1, 2}, -1);
            },
            "L::BlackOut: sample_size is -1" + kNegative},
           {[] {
              L::NegativeSampling(-1, {1, 2}, 2);
            },
            "L::NegativeSampling: in_size is -1" + kNegative},
           {[] { L::CRF1d(-1); }, "L::CRF1d: n_label is -1" + kNegative},
           {[] { L::BinaryHierarchicalSoftmax(-1, L::BinaryTree(L::BinaryTree(0), L::BinaryTree(1))); },
            "L::BinaryHierarchicalSoftmax: in_size is -1" + kNegative},
           {[] { L::BatchNormalization(-3); }, "L::BatchNormalization: size is -3" + kNegativeOrInfer},
           {[] { L::BatchNormalization(3, {.use_gamma = false, .use_beta = false})(absent); },
            "F::batch_normalization: x is not given: it is required"},
           {[] { L::BatchRenormalization(-2); }, "L::BatchRenormalization: size is -2" + kNegativeOrInfer},
           {[] { L::DecorrelatedBatchNormalization(-4, {.groups = 2}); },
            "L::DecorrelatedBatchNormalization: groups is 2 but size is -4: groups must divide size"},
           {[] { L::GroupNormalization(2, -2); }, "L::GroupNormalization: size is -2" + kNegativeOrInfer},
           {[] { L::LayerNormalization(-2); }, "L::LayerNormalization: size is -2" + kNegativeOrInfer},
           {[] {
              Parameter(Shape{3, -2});
            },
            "Parameter: shape is (3, -2): a size must not be negative unless it is kInfer (-1)"},
       }) {
    if (text.find("not given") != std::string::npos) {
      CHECK_THROWS_WITH_AS(make(), text.c_str(), TypeError);
    } else {
      CHECK_THROWS_WITH_AS(make(), text.c_str(), ValueError);
    }
  }
}

TEST_CASE("misuse: functions that links need") {
  check_misuses({
      {[] { L::Highway(2, {.activate = nullptr}); }, is<ValueError>,
       "L::Highway: activate is empty: it must be callable"},
      {[] { L::MLPConvolution2D(3, {4}, 3, {.activation = nullptr}); }, is<ValueError>,
       "L::MLPConvolution2D: activation is empty: it must be callable"},
  });
}

// Links whose sizes may be told by the first batch: it must be one.
TEST_CASE("misuse: the first batch of links") {
  check_misuses({
      {[] { L::Linear(2)(absent); }, is<TypeError>, "F::linear: x is not given: it is required"},
      {[] { L::SimplifiedDropconnect(kInfer, 2)(absent); }, is<TypeError>,
       "F::simplified_dropconnect: x is not given: it is required"},
      {[] { L::Swish(std::nullopt)(absent); }, is<TypeError>, "F::swish: x is not given: it is required"},
      {[] { L::Convolution1D(kInfer, 4, 3)(absent); }, is<TypeError>,
       "L::Convolution1D: x is not given: it is required"},
      {[] { L::DepthwiseConvolution2D(kInfer, 4, 3)(real({3})); }, is<TypeError>,
       "L::DepthwiseConvolution2D: x has shape (3,): x.ndim must be 4"},
      {[] { L::LocalConvolution2D(kInfer, 4, kInfer, 3)(absent); }, is<TypeError>,
       "L::LocalConvolution2D: x is not given: it is required"},
      {[] {
         L::BatchNormalization link(kInfer);
         link(absent);
       },
       is<TypeError>, "L::BatchNormalization: x is not given: it is required"},
  });
}

}  // namespace
}  // namespace kusari::misuse
