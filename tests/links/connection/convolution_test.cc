#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/connection/convolution_2d.h"
#include "kusari/framework/functions/connection/deconvolution_2d.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/deconvolution_2d.h"
#include "kusari/framework/links/connection/depthwise_convolution_2d.h"
#include "kusari/framework/links/connection/dilated_convolution_2d.h"
#include "kusari/framework/links/connection/inception.h"
#include "kusari/framework/links/connection/inceptionbn.h"
#include "kusari/framework/links/connection/mlp_convolution_2d.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/adam.h"
#include "kusari/tests/functions/testing.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::testing {
namespace {

TEST_CASE("Convolution2D is convolution_2d with its filters") {
  L::Convolution2D link(4, 6, PerAxis{3, 2},
                        {.stride = {2, 1}, .pad = 1, .initial_bias = 0.5, .dilate = {1, 2}, .groups = 2});
  CHECK(link.W.shape() == Shape{6, 2, 3, 2});
  CHECK(link.b.to_vector<float>() == std::vector<float>(6, 0.5f));
  const Array x = uniform({2, 4, 7, 6}, -1, 1).astype(Dtype::float32);
  const Variable expected =
      F::convolution_2d(x, link.W, link.b, {.stride = {2, 1}, .pad = 1, .dilate = {1, 2}, .groups = 2});
  CHECK(link(x).to_vector<float>() == expected.to_vector<float>());
  CHECK(to_string(link) ==
        "Convolution2D(in_channels=4, out_channels=6, ksize=(3, 2), stride=(2, 1), pad=(1, 1), nobias=False, "
        "dilate=(1, 2), groups=2)");
  CHECK(to_string(link.W.declared_shape()) == "(6, 2, 3, 2)");
}

TEST_CASE("the links of convolution take their input channels from the first batch") {
  L::Convolution2D images(4, 3, {.nobias = true});
  CHECK_FALSE(images.W.is_initialized());
  CHECK_FALSE(images.b.is_defined());
  CHECK(to_string(images).find("in_channels=None, out_channels=4, ksize=3, stride=(1, 1)") != std::string::npos);
  CHECK(images(zeros({2, 5, 6, 6})).shape() == Shape{2, 4, 4, 4});
  CHECK(images.W.shape() == Shape{4, 5, 3, 3});
  L::Convolution2D grouped(kInfer, 4, 3, {.groups = 2});
  CHECK(grouped(zeros({2, 6, 6, 6})).shape() == Shape{2, 4, 4, 4});
  CHECK(grouped.W.shape() == Shape{4, 3, 3, 3});
  L::Convolution1D line(kInfer, 4, 3);
  CHECK(line(zeros({2, 5, 6})).shape() == Shape{2, 4, 4});
  L::Convolution3D volume(kInfer, 4, PerAxis{1, 2, 3}, {.cover_all = true});
  CHECK(volume(zeros({2, 5, 6, 6, 6})).shape() == Shape{2, 4, 6, 5, 4});
  L::Deconvolution2D up(4, 3, {.groups = 2});
  CHECK(up(zeros({2, 6, 5, 5})).shape() == Shape{2, 4, 7, 7});
  CHECK(up.W.shape() == Shape{6, 2, 3, 3});
  L::DilatedConvolution2D dilated(4, 3, {.dilate = 2});
  CHECK(dilated(zeros({2, 5, 6, 6})).shape() == Shape{2, 4, 2, 2});
  L::DepthwiseConvolution2D depthwise(kInfer, 2, 3);
  CHECK(depthwise(zeros({2, 5, 6, 6})).shape() == Shape{2, 10, 4, 4});
  CHECK(depthwise.W.shape() == Shape{2, 5, 3, 3});
  CHECK(depthwise.b.shape() == Shape{10});
}

struct Braces : Chain {
  Child<L::Convolution2D> all{*this, "all", 3, 4, 5, {.stride = 2}}, lazy{*this, "lazy", 4, 5, {.stride = 2}};
  Child<L::Convolution2D> wide{*this, "wide", 3, 4, PerAxis{5, 1}};
  Child<L::ConvolutionND> any{*this, "any", 1, 3, 4, 5, {.pad = 1}};
};

// A kernel's size and options, both in braces, must not be taken for each other.
TEST_CASE("Convolution2D's arguments in braces") {
  const Braces braces;
  CHECK(braces.all.W.declared_shape() == Shape{4, 3, 5, 5});
  CHECK(braces.lazy.W.declared_shape() == Shape{4, kInfer, 5, 5});
  CHECK(braces.wide.W.declared_shape() == Shape{4, 3, 5, 1});
  CHECK(braces.any.W.declared_shape() == Shape{4, 3, 5});
  CHECK(L::Convolution2D(3, 4, PerAxis{5, 1}, {.groups = 1}).W.declared_shape() == Shape{4, 3, 5, 1});
  CHECK(L::Convolution2D(4, {5, 1}, {.stride = 2}).W.declared_shape() == Shape{4, kInfer, 5, 1});
  CHECK(L::Convolution2D(4, 5, {.groups = 2}).W.declared_shape() == Shape{4, kInfer, 5, 5});
  CHECK(L::Convolution2D(4, 5, {.stride = {2, 3}}).geometry().stride.given() == Dims{2, 3});
}

TEST_CASE("Deconvolution2D is deconvolution_2d with its filters") {
  L::Deconvolution2D link(4, 6, 3, {.stride = 2, .pad = 1, .outsize = {10, 9}, .groups = 2});
  const Array x = uniform({2, 4, 5, 5}, -1, 1).astype(Dtype::float32);
  const Variable expected =
      F::deconvolution_2d(x, link.W, link.b, {.stride = 2, .pad = 1, .outsize = {10, 9}, .groups = 2});
  CHECK(expected.shape() == Shape{2, 6, 10, 9});
  CHECK(link(x).to_vector<float>() == expected.to_vector<float>());
  CHECK(has_image_layout(link.W.array()));
}

TEST_CASE("the links of convolution refuse channels that are no multiple of groups") {
  CHECK_THROWS_WITH_AS(L::Convolution2D(3, 4, 3, {.groups = 2}),
                       "L::Convolution2D: in_channels is 3 but groups is 2: it must be a multiple of groups",
                       ValueError);
  CHECK_THROWS_AS(L::Convolution2D(4, 3, 3, {.groups = 2}), ValueError);
  CHECK_THROWS_AS(L::Convolution2D(4, 4, 3, {.groups = 0}), ValueError);
  CHECK_THROWS_AS(L::Convolution2D(kInfer, 4, 3, {.groups = 2})(zeros({1, 3, 5, 5})), ValueError);
  CHECK_THROWS_AS(L::Deconvolution2D(3, 4, 3, {.groups = 2}), ValueError);
  CHECK_THROWS_AS(L::Deconvolution2D(4, 3, 3, {.groups = 2}), ValueError);
  CHECK_THROWS_WITH_AS(L::Convolution2D(3, 4, PerAxis{1, 2, 3}),
                       "L::Convolution2D: ksize is (1, 2, 3): it must be one number or one for each of the 2 spatial "
                       "axes",
                       ValueError);
}

struct Model : Chain {
  Model() : conv{*this, "conv", kInfer, 6, 3, {.pad = 1}}, up{*this, "up", 6, 4, 2} {}
  Variable operator()(const Variable& x) { return F::sum(up(conv(x)) * up(conv(x))); }
  bool is_channels_last() const {
    return conv.W.array().is_channels_last() && !conv.W.array().is_contiguous() && up.W.array().is_channels_last();
  }
  Child<L::Convolution2D> conv;
  Child<L::Deconvolution2D> up;
};

TEST_CASE("filters stay channels-last whatever happens to them") {
  const auto guard = using_config(&Config::channels_last, true);
  const Array x = uniform({2, 3, 5, 5}, -1, 1).astype(Dtype::float32);
  Model model;
  optimizers::Adam optimizer;
  optimizer.setup(model);
  const auto loss = [&] { return model(x); };
  for (int i = 0; i < 2; ++i) optimizer.update(loss);
  CHECK(model.is_channels_last());
  CHECK(model.conv.W.grad().is_channels_last());
  CHECK(model.conv.W.update_rule().state("m").is_channels_last());

  const Model copied = model;
  CHECK(copied.is_channels_last());
  CHECK(copy(model, CopyMode::init).is_channels_last());
  Model assigned;
  assigned = model;
  CHECK(assigned.is_channels_last());
  Model filled;
  filled.copyparams(model);
  CHECK(filled.is_channels_last());
  model.conv.W.reinitialize();
  CHECK(model.is_channels_last());

  const ScratchDirectory directory;
  const std::string path = directory / "model.npz";
  serializers::save_npz(path, assigned);
  Model loaded;
  serializers::load_npz(path, loaded);
  CHECK(loaded.is_channels_last());
  CHECK(loaded.conv.W.to_vector<float>() == assigned.conv.W.to_vector<float>());
}

TEST_CASE("filters have the same numbers in either layout") {
  const auto draw = [] {
    random::seed(3);
    return L::Convolution2D(3, 4, 3);
  };
  const L::Convolution2D one = draw();
  const auto guard = using_config(&Config::channels_last, false);
  const L::Convolution2D other = draw();
  CHECK(other.W.array().is_contiguous());
  CHECK(one.W.to_vector<float>() == other.W.to_vector<float>());
}

TEST_CASE("DepthwiseConvolution2D") {
  L::DepthwiseConvolution2D link(3, 2, 3, {.stride = 2, .pad = 1, .nobias = true});
  const Array x = uniform({2, 3, 5, 5}, -1, 1).astype(Dtype::float32);
  CHECK(link(x).to_vector<float>() ==
        F::depthwise_convolution_2d(x, link.W, Variable(), {.stride = 2, .pad = 1}).to_vector<float>());
  CHECK(to_string(link) ==
        "DepthwiseConvolution2D(in_channels=3, channel_multiplier=2, ksize=3, stride=(2, 2), pad=(1, 1), nobias=True)");
}

TEST_CASE("Inception puts its branches side by side") {
  L::Inception link(kInfer, {.out1 = 2, .proj3 = 3, .out3 = 4, .proj5 = 2, .out5 = 3, .proj_pool = 5});
  CHECK(link(uniform({2, 3, 6, 5}, -1, 1).astype(Dtype::float32)).shape() == Shape{2, 14, 6, 5});
  CHECK(link.namedparams().size() == 12);
  CHECK(link.param("/conv5/W").shape() == Shape{3, 2, 5, 5});
  const L::Inception constant(1, {1, 1, 1, 1, 1, 1, 0, 2});
  CHECK(constant.projp.b.to_vector<float>() == std::vector<float>{2});
}

TEST_CASE("InceptionBN leaves out what it is told to") {
  L::InceptionBN whole(3,
                       {.out1 = 2, .proj3 = 1, .out3 = 2, .proj33 = 1, .out33 = 3, .pooltype = "avg", .proj_pool = 4});
  const Array x = uniform({2, 3, 6, 6}, -1, 1).astype(Dtype::float32);
  CHECK(whole(x).shape() == Shape{2, 11, 6, 6});
  CHECK(whole.namedparams().size() == 7 + 2 * 7);
  L::InceptionBN halving(3, {.proj3 = 1, .out3 = 2, .proj33 = 1, .out33 = 3, .stride = 2});
  CHECK(halving(x).shape() == Shape{2, 8, 3, 3});
  CHECK(halving.namedparams().size() == 5 + 2 * 5);
  L::InceptionBN copied = whole;
  CHECK(copied.namedparams().size() == 21);
  CHECK(copied.param("/conv1/W").array().raw_data() == copied.conv1->W.array().raw_data());
  CHECK(copied.conv1->W.array().raw_data() != whole.conv1->W.array().raw_data());
  CHECK_THROWS_WITH_AS(L::InceptionBN(3, {.pooltype = "mean"}),
                       "L::InceptionBN: pooltype is 'mean': it must be 'max' or 'avg'", ValueError);
  CHECK_THROWS_AS(L::InceptionBN(3, {.out1 = 2, .proj3 = 1, .out3 = 2, .proj33 = 1, .out33 = 3}), ValueError);
}

TEST_CASE("MLPConvolution2D") {
  const auto twice = [](const Variable& x) { return x * 2.0; };
  L::MLPConvolution2D link(kInfer, {3, 2, 4}, 3, {.pad = 1, .activation = twice});
  const Array x = uniform({2, 5, 4, 4}, -1, 1).astype(Dtype::float32);
  const Variable y = link(x);
  CHECK(y.shape() == Shape{2, 4, 4, 4});
  CHECK(link.param("/2/W").shape() == Shape{4, 2, 1, 1});
  CHECK(y.to_vector<float>() == link[2](link[1](link[0](x) * 2.0) * 2.0).to_vector<float>());
  L::MLPConvolution2D copied = link;
  CHECK(copied(x).to_vector<float>() == y.to_vector<float>());
  CHECK_THROWS_WITH_AS(L::MLPConvolution2D(3, {}, 3),
                       "L::MLPConvolution2D: out_channels is empty: it must have a number for each convolution",
                       ValueError);
}

}  // namespace
}  // namespace kusari::testing
