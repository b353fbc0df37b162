// onnx_export_cases FOLDER [OPSET]: writes a folder with a test case for each of many functions, links and models,
// which tools/check_onnx_export runs with ONNX Runtime. Those of NAME.batch and NAME.axisK were exported with a batch,
// or an axis, of any size, and have inputs of another one.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/kusari.h"
#include "kusari/framework/onnx/export_model.h"
#include "kusari/framework/onnx/function.h"
#include "kusari/tests/onnx/case_writer.h"
#include "kusari/tests/onnx/computed_places.h"
#include "kusari/tests/onnx/export_inputs.h"

namespace {

using namespace kusari;
using testing::fixed;
using testing::integers;
using testing::uniform;

std::unique_ptr<testing::CaseWriter> g_writer;

template <class Model>
void write_case(const std::string& name, Model&& model, const std::vector<Variable>& inputs, Link* link = nullptr,
                bool dynamic = false) {
  g_writer->write(name, model, inputs, link, dynamic);
}

template <class Model>
void both(const std::string& name, Model&& model, const std::vector<Variable>& inputs, Link* link = nullptr) {
  write_case(name, model, inputs, link, false);
  write_case(name, model, inputs, link, true);
}

// A link that is called as it is.
template <class T>
void link_case(const std::string& name, T model, const std::vector<Variable>& inputs, bool dynamic = true) {
  write_case(name, model, inputs);
  if (dynamic) write_case(name, model, inputs, nullptr, true);
}

void activations() {
  const Variable x = uniform({2, 6, 3}, -3, 3);
  const std::vector<std::pair<const char*, std::function<Variable(const Variable&)>>> all = {
      {"relu", [](const Variable& v) { return F::relu(v); }},
      {"sigmoid", [](const Variable& v) { return F::sigmoid(v); }},
      {"tanh", [](const Variable& v) { return F::tanh(v); }},
      {"clipped_relu", [](const Variable& v) { return F::clipped_relu(v, 1.5); }},
      {"relu6", [](const Variable& v) { return F::relu6(v * 4); }},
      {"crelu", [](const Variable& v) { return F::crelu(v); }},
      {"leaky_relu", [](const Variable& v) { return F::leaky_relu(v, 0.1); }},
      {"elu", [](const Variable& v) { return F::elu(v, 0.7); }},
      {"selu", [](const Variable& v) { return F::selu(v); }},
      {"hard_sigmoid", [](const Variable& v) { return F::hard_sigmoid(v); }},
      {"hard_sigmoid_sixth", [](const Variable& v) { return F::hard_sigmoid(v, {.alpha = 1.0 / 6}); }},
      {"hard_swish", [](const Variable& v) { return F::hard_swish(v); }},
      {"mish", [](const Variable& v) { return F::mish(v); }},
      {"celu", [](const Variable& v) { return F::celu(v, 0.7); }},
      {"softsign", [](const Variable& v) { return F::softsign(v); }},
      {"thresholded_relu", [](const Variable& v) { return F::thresholded_relu(v, 0.3); }},
      {"shrink", [](const Variable& v) { return F::shrink(v, {.lambd = 0.4, .bias = 0.1}); }},
      {"softplus", [](const Variable& v) { return F::softplus(v, 2); }},
      {"gelu", [](const Variable& v) { return F::gelu(v); }},
      {"gelu_tanh", [](const Variable& v) { return F::gelu(v, F::GeluForm::tanh); }},
      {"silu", [](const Variable& v) { return F::silu(v); }},
      {"swish",
       [](const Variable& v) {
         return F::swish(v, fixed({6, 3}));
       }},
      {"normalized_fusion_silu",
       [](const Variable& v) {
         const Variables maps = {v, v * v, F::tanh(v)};
         return F::normalized_fusion_silu({maps.data(), maps.size()}, fixed({3}));
       }},
      {"prelu",
       [](const Variable& v) {
         return F::prelu(v, fixed({6, 3}));
       }},
      {"rrelu", [](const Variable& v) { return F::rrelu(v); }},
      {"softmax", [](const Variable& v) { return F::softmax(v, 1); }},
      {"log_softmax", [](const Variable& v) { return F::log_softmax(v, 2); }},
      {"maxout", [](const Variable& v) { return F::maxout(v, 2, 1); }},
      {"dropout", [](const Variable& v) { return F::dropout(v) + 1; }},
  };
  for (const auto& [name, f] : all) both(std::string("activation_") + name, f, {x});
}

void mathematics() {
  const Variable x = uniform({2, 3, 4}, 0.1, 0.9);
  const std::vector<std::pair<const char*, std::function<Variable(const Variable&)>>> all = {
      {"exp", [](const Variable& v) { return F::exp(v); }},
      {"log", [](const Variable& v) { return F::log(v); }},
      {"log2", [](const Variable& v) { return F::log2(v); }},
      {"log10", [](const Variable& v) { return F::log10(v); }},
      {"log1p", [](const Variable& v) { return F::log1p(v); }},
      {"expm1", [](const Variable& v) { return F::expm1(v); }},
      {"sqrt", [](const Variable& v) { return F::sqrt(v); }},
      {"rsqrt", [](const Variable& v) { return F::rsqrt(v); }},
      {"square", [](const Variable& v) { return F::square(v); }},
      {"sin", [](const Variable& v) { return F::sin(v); }},
      {"cos", [](const Variable& v) { return F::cos(v); }},
      {"tan", [](const Variable& v) { return F::tan(v); }},
      {"arcsin", [](const Variable& v) { return F::arcsin(v); }},
      {"arccos", [](const Variable& v) { return F::arccos(v); }},
      {"arctan", [](const Variable& v) { return F::arctan(v); }},
      {"sinh", [](const Variable& v) { return F::sinh(v); }},
      {"cosh", [](const Variable& v) { return F::cosh(v); }},
      {"arctanh", [](const Variable& v) { return F::arctanh(v); }},
      {"erf", [](const Variable& v) { return F::erf(v); }},
      {"erfc", [](const Variable& v) { return F::erfc(v); }},
      {"ndtr", [](const Variable& v) { return F::ndtr(v); }},
      {"absolute", [](const Variable& v) { return F::absolute(v - 0.5); }},
      {"sign", [](const Variable& v) { return F::sign(v - 0.5); }},
      {"floor", [](const Variable& v) { return F::floor(v * 7 - 3); }},
      {"ceil", [](const Variable& v) { return F::ceil(v * 7 - 3); }},
      {"fix", [](const Variable& v) { return F::fix(v * 7 - 3); }},
      {"clip", [](const Variable& v) { return F::clip(v, 0.2, 0.6); }},
      {"numbers", [](const Variable& v) { return 2 - (3 / (v * 2 + 1) - 1) / 4; }},
      {"pow", [](const Variable& v) { return F::pow(v, 1.5) + F::pow(2, v) + F::pow(v, v); }},
      {"add_broadcast",
       [](const Variable& v) {
         return v + fixed({3, 1}) * fixed({4}) / fixed({1, 1, 1}, 1, 2);
       }},
      {"maximum",
       [](const Variable& v) {
         return F::maximum(v, fixed({3, 4}));
       }},
      {"minimum", [](const Variable& v) { return F::minimum(v, fixed({4})); }},
      {"fmod", [](const Variable& v) { return F::fmod(v * 9, Variable(full(v.shape(), 2, Dtype::float32), false)); }},
      {"matmul",
       [](const Variable& v) {
         return F::matmul(v, fixed({4, 5}));
       }},
      {"matmul_transposed",
       [](const Variable& v) {
         return F::matmul(v, fixed({5, 4}), {.transb = true});
       }},
      {"batch_matmul", [](const Variable& v) { return F::matmul(v, v, {.transb = true}); }},
      {"sum", [](const Variable& v) { return F::sum(v, 1); }},
      {"sum_keepdims",
       [](const Variable& v) {
         return F::sum(v, {.axis = {1, 2}, .keepdims = true});
       }},
      {"mean", [](const Variable& v) { return F::mean(v, 2); }},
      {"prod", [](const Variable& v) { return F::prod(v, 1); }},
      {"max", [](const Variable& v) { return F::max(v, 1); }},
      {"min", [](const Variable& v) { return F::min(v, {.axis = 2, .keepdims = true}); }},
      {"logsumexp", [](const Variable& v) { return F::logsumexp(v, 1); }},
      {"argmax", [](const Variable& v) { return F::argmax(v, 1); }},
      {"top_k", [](const Variable& v) { return F::top_k(v, 2).values; }},
      {"top_k_places", [](const Variable& v) { return F::top_k(v, 2, 1).indices; }},
      {"argmin", [](const Variable& v) { return F::argmin(v, 2); }},
      {"cumsum", [](const Variable& v) { return F::cumsum(v, 1); }},
      {"batch_l2_norm_squared", [](const Variable& v) { return F::batch_l2_norm_squared(v); }},
      {"einsum",
       [](const Variable& v) {
         return F::einsum("nij,jk->nik", {v, fixed({4, 2})});
       }},
      {"tensordot",
       [](const Variable& v) {
         return F::tensordot(v, fixed({4, 2}), 1);
       }},
  };
  for (const auto& [name, f] : all) both(std::string("math_") + name, f, {x});
  write_case("math_sum_all", [](const Variable& v) { return F::sum(v); }, {x});
  write_case("math_argmax_all", [](const Variable& v) { return F::argmax(v); }, {x});
  both("math_det", [](const Variable& v) { return F::batch_det(v); }, {uniform({2, 3, 3})});
  both("math_linear_interpolate",
       [](const Variable& p, const Variable& a, const Variable& b) { return F::linear_interpolate(p, a, b); },
       {x, uniform({2, 3, 4}), uniform({2, 3, 4})});
  both("math_where",
       [](const Variable& a, const Variable& b) {
         return F::where(Variable(array<uint8_t>({1, 0, 1, 1}, {1, 4}).astype(Dtype::bool_), false), a, b);
       },
       {uniform({2, 4}), uniform({2, 4})});
  if (g_writer->opset() >= 17) {
    both("math_fft",
         [](const Variable& re, const Variable& im) {
           return F::fft({re, im});
         },
         {uniform({2, 8}), uniform({2, 8})});
  }
}

void arrays() {
  const Variable x = uniform({2, 4, 6});
  const std::vector<std::pair<const char*, std::function<Variable(const Variable&)>>> all = {
      {"reshape",
       [](const Variable& v) {
         return F::reshape(v, {v.shape()[0], 24});
       }},
      {"reshape_rows",
       [](const Variable& v) {
         return F::reshape(v, {v.shape()[0] * 4, 6});
       }},
      {"flatten_batch", [](const Variable& v) { return F::flatten(v); }},
      {"transpose",
       [](const Variable& v) {
         return F::transpose(v, {0, 2, 1});
       }},
      {"swapaxes", [](const Variable& v) { return F::swapaxes(v, 0, 1); }},
      {"concat",
       [](const Variable& v) {
         return F::concat({v, v * 2}, 1);
       }},
      {"hstack",
       [](const Variable& v) {
         return F::hstack({v, v});
       }},
      {"expand_dims", [](const Variable& v) { return F::expand_dims(v, 1); }},
      {"squeeze", [](const Variable& v) { return F::squeeze(F::expand_dims(v, 1), 1); }},
      {"broadcast_to",
       [](const Variable& v) {
         return F::broadcast_to(F::expand_dims(v, 1), {v.shape()[0], 3, 4, 6});
       }},
      {"split_axis", [](const Variable& v) { return F::split_axis(v, 2, 1)[1]; }},
      {"separate", [](const Variable& v) { return F::separate(v, 1)[2]; }},
      {"stack",
       [](const Variable& v) {
         return F::stack({v, v + 1}, 1);
       }},
      {"tile",
       [](const Variable& v) {
         return F::tile(v, {1, 2, 1});
       }},
      {"repeat", [](const Variable& v) { return F::repeat(v, 2, 1); }},
      {"get_item",
       [](const Variable& v) {
         return F::get_item(v, {Slice{}, 1, Slice{1, 5, 2}});
       }},
      {"get_item_reversed",
       [](const Variable& v) {
         return F::get_item(v, {Slice{}, Slice{std::nullopt, std::nullopt, -1}});
       }},
      {"flip", [](const Variable& v) { return F::flip(v, 2); }},
      {"flip_batch", [](const Variable& v) { return F::flip(v, 0); }},
      {"first", [](const Variable& v) { return F::get_item(v, {0}); }},
      {"pad",
       [](const Variable& v) {
         return F::pad(v, {{0, 0}, {1, 2}, {0, 1}}, F::PadMode::constant, 2);
       }},
      {"pad_reflect",
       [](const Variable& v) {
         return F::pad(v, {{0, 0}, {1, 2}, {0, 1}}, F::PadMode::reflect);
       }},
      {"pad_edge",
       [](const Variable& v) {
         return F::pad(v, {{0, 0}, {1, 2}, {0, 0}}, F::PadMode::edge);
       }},
      {"permutate",
       [](const Variable& v) {
         return F::permutate(v, array<int64_t>({3, 0, 2, 1}), 1);
       }},
      {"diagonal", [](const Variable& v) { return F::diagonal(v, {.offset = 1, .axis1 = 1, .axis2 = 2}); }},
      {"cast", [](const Variable& v) { return F::cast(v * 9, Dtype::int32); }},
  };
  for (const auto& [name, f] : all) both(std::string("array_") + name, f, {x});
  both("array_outputs", [](const Variable& v) { return F::split_axis(v, {1, 3}, 1); }, {x});
  const Variable image = uniform({2, 4, 4, 6});
  both("array_depth2space", [](const Variable& v) { return F::depth2space(v, 2); }, {image});
  both("array_space2depth", [](const Variable& v) { return F::space2depth(v, 2); }, {image});
  both("array_resize_images",
       [](const Variable& v) {
         return F::resize_images(v, {8, 9}, {.align_corners = true});
       },
       {image});
  both("array_resize_half",
       [](const Variable& v) {
         return F::resize_images(v, {8, 12}, {.align_corners = false});
       },
       {image});
  both("array_resize_nearest",
       [](const Variable& v) {
         return F::resize_images(v, {8, 12}, {.mode = F::ResizeMode::nearest});
       },
       {image});
  for (const auto& [name, f] : testing::computed_places()) {
    both(std::string("computed_") + name, f, {uniform({3, 4}, -1, 1)});
  }
}

void connections() {
  const Variable x = uniform({2, 4, 9, 8});
  const auto conv = [](F::ConvolutionOptions options, Shape W) {
    const Variable weights = uniform(W), b = uniform({W[0]});
    return [=](const Variable& v) { return F::convolution_2d(v, weights, b, options); };
  };
  both("connection_conv", conv({.stride = 1, .pad = 1}, {6, 4, 3, 3}), {x});
  both("connection_conv_stride", conv({.stride = 2, .pad = 1}, {6, 4, 3, 2}), {x});
  both("connection_conv_cover_all", conv({.stride = 2, .pad = 0, .cover_all = true}, {6, 4, 3, 3}), {x});
  both("connection_conv_dilate", conv({.stride = 1, .pad = 2, .dilate = 2, .groups = 2}, {6, 2, 3, 3}), {x});
  const auto deconv = [](F::DeconvolutionOptions options, Shape W) {
    const Variable weights = uniform(W), b = uniform({W[1] * options.groups});
    return [=](const Variable& v) { return F::deconvolution_2d(v, weights, b, options); };
  };
  both("connection_deconv", deconv({.stride = 2, .pad = 1}, {4, 3, 4, 4}), {x});
  both("connection_deconv_outsize", deconv({.stride = 2, .pad = 1, .outsize = {18, 16}}, {4, 3, 3, 3}), {x});
  both("connection_deconv_groups", deconv({.stride = 1, .pad = 0, .groups = 2}, {4, 3, 3, 3}), {x});
  const Variable W1 = uniform({5, 4, 3}), W3 = uniform({5, 2, 2, 2, 2});
  both("connection_conv_1d", [=](const Variable& v) { return F::convolution_1d(v, W1); }, {uniform({2, 4, 9})});
  both("connection_conv_3d", [=](const Variable& v) { return F::convolution_3d(v, W3); }, {uniform({2, 2, 4, 4, 4})});
  const Variable table = uniform({7, 5});
  both("connection_embed_id", [=](const Variable& v) { return F::embed_id(v, table); }, {integers({2, 3}, 7)});
  both("connection_embed_ignored", [=](const Variable& v) { return F::embed_id(v, table, 3); }, {integers({2, 3}, 7)});
  both("connection_shift", [](const Variable& v) { return F::shift(v, 3, 1); }, {uniform({2, 10, 5, 5})});
  link_case("link_linear", L::Linear(kInfer, 5), {uniform({2, 3, 4})});
  link_case("link_bilinear", L::Bilinear(3, 4, 5), {uniform({2, 3}), uniform({2, 4})});
  link_case("link_depthwise", L::DepthwiseConvolution2D(4, 2, 3), {x});
  link_case("link_dilated", L::DilatedConvolution2D(4, 6, 3, {.pad = 2, .dilate = 2}), {x});
  if (g_writer->opset() >= 16) {
    link_case("link_deformable", L::DeformableConvolution2D(4, 6, 3), {x});
    write_case("connection_transformer_sampler",
               [](const Variable& v) {
                 return F::spatial_transformer_sampler(
                     v, F::broadcast_to(fixed({1, 2, 3, 5}, -1.2, 1.2), {v.shape()[0], 2, 3, 5}));
               },
               {x});
  }
  link_case("link_highway", L::Highway(6), {uniform({2, 6})});
  link_case("link_inception",
            L::Inception(4, {.out1 = 3, .proj3 = 2, .out3 = 3, .proj5 = 2, .out5 = 3, .proj_pool = 2}), {x});
  link_case("link_inception_bn",
            L::InceptionBN(4, {.out1 = 3, .proj3 = 2, .out3 = 3, .proj33 = 2, .out33 = 3, .proj_pool = 2}), {x});
  link_case("link_inception_bn_stride",
            L::InceptionBN(4, {.proj3 = 2, .out3 = 3, .proj33 = 2, .out33 = 3, .pooltype = "avg", .stride = 2}), {x});
  link_case("link_swish", L::Swish(Shape{4}), {x});
  link_case("link_mlp_convolution", L::MLPConvolution2D(4, {5, 6}, 3), {x});
  link_case("link_scale", L::Scale({.w_shape = Shape{4}, .bias_term = true}), {x});
  link_case("link_maxout", L::Maxout(6, 4, 3), {uniform({2, 6})});
  link_case("link_prelu", L::PReLU({.shape = {4}}), {uniform({2, 4, 3})});
}

void poolings() {
  const Variable x = uniform({2, 3, 9, 8});
  both("pooling_max", [](const Variable& v) { return F::max_pooling_2d(v, 2); }, {x});
  both("pooling_max_cover_all",
       [](const Variable& v) { return F::max_pooling_2d(v, 3, {.stride = 2, .pad = 1, .cover_all = true}); }, {x});
  both("pooling_max_pad",
       [](const Variable& v) { return F::max_pooling_2d(v, 3, {.stride = 2, .pad = 1, .cover_all = false}); }, {x});
  both("pooling_max_long_pad",
       [](const Variable& v) {
         return F::max_pooling_2d(v, PerAxis({2, 3}), {.stride = 2, .pad = PerAxis({2, 0})});
       },
       {x});
  both("pooling_average", [](const Variable& v) { return F::average_pooling_2d(v, 3, {.stride = 2, .pad = 1}); }, {x});
  both(
      "pooling_average_inside",
      [](const Variable& v) { return F::average_pooling_nd(v, 3, {.stride = 2, .pad = 1, .pad_value = std::nullopt}); },
      {x});
  both("pooling_global", [](const Variable& v) { return F::global_average_pooling_2d(v); }, {x});
  both("pooling_pyramid", [](const Variable& v) { return F::spatial_pyramid_pooling_2d(v, 3); }, {x});
  both("pooling_unpooling", [](const Variable& v) { return F::unpooling_2d(v, 2, {.cover_all = false}); }, {x});
  both("pooling_unpooling_overlap",
       [](const Variable& v) { return F::unpooling_2d(v, 3, {.stride = 2, .pad = 1, .cover_all = false}); }, {x});
  both("pooling_unpooling_cover_all", [](const Variable& v) { return F::unpooling_2d(v, 2); }, {x});
  if (g_writer->opset() >= 16) {
    write_case(
        "pooling_roi_align",
        [](const Variable& v, const Variable& rois, const Variable& images) {
          return F::roi_average_align_2d(v, rois, images, 3, 0.5, 2);
        },
        {x, Variable(array<float>({1, 2, 9, 12, 0, 0, 7, 7}, {2, 4}), false), Variable(array<int64_t>({0, 1}), false)});
    // Of samples that are all below 0, some of them outside the image.
    write_case("pooling_roi_max_align",
               [](const Variable& v, const Variable& rois, const Variable& images) {
                 return F::roi_max_align_2d(v - 10, rois, images, PerAxis({3, 2}), 0.5, PerAxis({2, 3}));
               },
               {x, Variable(array<float>({1, 2, 9, 12, -9, -5, 40, 27}, {2, 4}), false),
                Variable(array<int64_t>({0, 1}), false)});
  }
}

void normalizations() {
  const Variable x = uniform({2, 6, 5, 4});
  link_case("link_batch_normalization", L::BatchNormalization(6), {x});
  link_case("link_batch_normalization_rows", L::BatchNormalization(6), {uniform({3, 6})});
  const Variable gamma = uniform({6}), beta = uniform({6}), mean = uniform({6}), var = uniform({6}, 0.5, 2);
  both("normalization_fixed",
       [=](const Variable& v) { return F::fixed_batch_normalization(v, gamma, beta, mean, var); }, {x});
  both("normalization_fixed_axis",
       [](const Variable& v) {
         return F::fixed_batch_normalization(v, fixed({4}), fixed({4}), fixed({4}), fixed({4}, 0.5, 2),
                                             {.axis = {0, 1, 2}});
       },
       {x});
  both("normalization_layer", [=](const Variable& v) { return F::layer_normalization(v, gamma, beta); },
       {uniform({2, 6})});
  link_case("link_layer_normalization", L::LayerNormalization(6), {uniform({2, 3, 6})});
  link_case("link_rms_normalization", L::RMSNormalization(6), {uniform({2, 3, 6})});
  both("normalization_group", [=](const Variable& v) { return F::group_normalization(v, 3, gamma, beta); }, {x});
  link_case("link_batch_renormalization", L::BatchRenormalization(6), {x});
  link_case("link_group_normalization", L::GroupNormalization(2), {x});
  both("normalization_lrn", [](const Variable& v) { return F::local_response_normalization(v); }, {x});
  both("normalization_l2", [](const Variable& v) { return F::normalize(v); }, {uniform({2, 6})});
}

void in_training() {
  if (g_writer->opset() < 14) return;
  g_writer->set_train(true);
  const Variable x = uniform({2, 6, 5, 4});
  both("train_batch_normalization", [](const Variable& v) { return F::batch_normalization(v, fixed({6}), fixed({6})); },
       {x});
  both("train_batch_normalization_relu",
       [](const Variable& v) { return F::batch_normalization_add_relu(v, F::exp(v), fixed({6}), fixed({6})); }, {x});
  g_writer->set_train(false);
}

void losses() {
  const Variable x = uniform({4, 5}, -2, 2), t = integers({4}, 5);
  both("loss_softmax_cross_entropy",
       [](const Variable& a, const Variable& b) { return F::softmax_cross_entropy(a, b); }, {x, t});
  both("loss_softmax_cross_entropy_no",
       [](const Variable& a, const Variable& b) {
         return F::softmax_cross_entropy(a, b, {.ignore_label = 2, .reduce = F::Reduce::no});
       },
       {x, t});
  both("loss_softmax_cross_entropy_weight",
       [](const Variable& a, const Variable& b) {
         return F::softmax_cross_entropy(a, b, {.class_weight = array<float>({1, 2, 3, 4, 5}), .ignore_label = 2});
       },
       {x, t});
  both("loss_sigmoid_cross_entropy",
       [](const Variable& a, const Variable& b) { return F::sigmoid_cross_entropy(a, b); }, {x, integers({4, 5}, 2)});
  const Variable y = uniform({4, 5});
  both("loss_mean_squared_error", [](const Variable& a, const Variable& b) { return F::mean_squared_error(a, b); },
       {x, y});
  both("loss_mean_absolute_error", [](const Variable& a, const Variable& b) { return F::mean_absolute_error(a, b); },
       {x, y});
  both("loss_squared_error", [](const Variable& a, const Variable& b) { return F::squared_error(a, b); }, {x, y});
  both("loss_absolute_error", [](const Variable& a, const Variable& b) { return F::absolute_error(a, b); }, {x, y});
  both("loss_huber", [](const Variable& a, const Variable& b) { return F::huber_loss(a, b, 0.5); }, {x, y});
  both("loss_contrastive",
       [](const Variable& a, const Variable& b, const Variable& c) { return F::contrastive(a, b, c); },
       {x, y, integers({4}, 2)});
  both("loss_accuracy", [](const Variable& a, const Variable& b) { return F::accuracy(a, b); }, {x, t});
}

void attentions() {
  const Variable q = uniform({2, 4, 3, 8}), k = uniform({2, 2, 5, 8}), v = uniform({2, 2, 5, 6});
  const auto attend = [](F::AttentionOptions options) {
    return [options](const Variable& a, const Variable& b, const Variable& c) {
      return F::scaled_dot_product_attention(a, b, c, options);
    };
  };
  both("attention_groups", attend({}), {q, k, v});
  both("attention_causal", attend({.is_causal = true}), {q, k, v});
  both("attention_window", attend({.is_causal = true, .window = 2}), {q, k, v});
  write_case("attention_lengths", attend({.lengths = array<int64_t>({3, 0})}), {q, k, v});
  both("attention_mask", attend({.mask = uniform({3, 5}).array()}), {q, k, v});
  both("attention_bias",
       [](const Variable& a, const Variable& b, const Variable& c, const Variable& bias) {
         return F::scaled_dot_product_attention(
             a, b, c, {.mask = array<uint8_t>({1, 1, 0, 1, 1}).astype(Dtype::bool_), .bias = bias});
       },
       {q, k, v, uniform({4, 3, 5})});
  both("attention_rotary", [](const Variable& x) { return F::rotary_embedding(x); }, {uniform({2, 4, 3, 8})});
  both("attention_rotary_interleaved", [](const Variable& x) { return F::rotary_embedding(x, {.interleaved = true}); },
       {uniform({2, 4, 3, 8})});
  link_case("model_llama",
            L::TransformerLM(50, {.block = 16,
                                  .layers = 2,
                                  .heads = 4,
                                  .width = 16,
                                  .tied = false,
                                  .blocks = {.mlp_width = 24,
                                             .mlp = L::BlockMlp::gated_silu,
                                             .norm = L::BlockNorm::rms,
                                             .groups = 2,
                                             .nobias = true,
                                             .rotary_base = 1e4}}),
            {integers({2, 6}, 50)});
  link_case("model_qwen3",
            L::TransformerLM(50, {.block = 16,
                                  .layers = 2,
                                  .heads = 4,
                                  .width = 16,
                                  .blocks = {.mlp = L::BlockMlp::gated_silu,
                                             .norm = L::BlockNorm::rms,
                                             .groups = 2,
                                             .head_width = 6,
                                             .nobias = true,
                                             .head_norm = true,
                                             .rotary_base = 10,
                                             .rotary_scaling = {.factor = 8, .trained = 20}}}),
            {integers({2, 6}, 50)});
  link_case("model_windows",
            L::TransformerLM(50, {.block = 16,
                                  .layers = 2,
                                  .heads = 4,
                                  .width = 16,
                                  .blocks = {.groups = 2, .nobias = true, .rotary_base = 1e4},
                                  .windows = {std::nullopt, 3}}),
            {integers({2, 7}, 50)});
  link_case("link_attention", L::MultiHeadAttention(16, 4), {uniform({2, 5, 16})});
  link_case("link_transformer_block", L::TransformerBlock(16, 4), {uniform({2, 5, 16})});
  link_case("link_transformer_decoder_block", L::TransformerDecoderBlock(16, 4),
            {uniform({2, 5, 16}), uniform({2, 7, 16})});
  link_case("model_transformer_lm", L::TransformerLM(50, {.block = 16, .layers = 2, .heads = 4, .width = 16}),
            {integers({2, 6}, 50)});
}

void recurrent() {
  const Variable xs = uniform({4, 3, 5});  // times, batch, width
  const auto run = [](auto& link, const Variable& all, bool is_lstm) {
    const Variables times = F::separate(all, 0);
    if constexpr (requires { link(Variable(), std::span<const Variable>()); }) {
      static_cast<void>(is_lstm);
      const auto out = link(Variable(), std::span<const Variable>(times.data(), times.size()));
      return Variables(out.hy, F::concat(std::span<const Variable>(out.ys), 0));
    } else {
      const auto out = link(Variable(), Variable(), std::span<const Variable>(times.data(), times.size()));
      return Variables(out.hy, out.cy, F::concat(std::span<const Variable>(out.ys), 0));
    }
  };
  const auto both_lengths = [&](const std::string& name, auto link) {
    write_case(
        name, [&](const Variable& all) { return run(link, all, false); }, {xs}, &link);
    write_case(
        name + "_ragged",
        [&](const Variable& a, const Variable& b) {
          const std::vector<Variable> list{a, b};
          if constexpr (requires { link(Variable(), std::span<const Variable>()); }) {
            const auto out = link(Variable(), std::span<const Variable>(list));
            return Variables(out.hy, out.ys[0], out.ys[1]);
          } else {
            const auto out = link(Variable(), Variable(), std::span<const Variable>(list));
            return Variables(out.hy, out.cy, out.ys[0], out.ys[1]);
          }
        },
        {uniform({4, 5}), uniform({2, 5})}, &link);
  };
  both_lengths("link_n_step_lstm", L::NStepLSTM(2, 5, 6, 0));
  both_lengths("link_n_step_bi_lstm", L::NStepBiLSTM(2, 5, 6, 0));
  both_lengths("link_n_step_gru", L::NStepGRU(2, 5, 6, 0));
  both_lengths("link_n_step_bi_gru", L::NStepBiGRU(1, 5, 6, 0));
  both_lengths("link_n_step_rnn_tanh", L::NStepRNNTanh(2, 5, 6, 0));
  both_lengths("link_n_step_bi_rnn_relu", L::NStepBiRNNReLU(1, 5, 6, 0));
  link_case("link_lstm", L::LSTM(5, 6), {uniform({2, 5})});
  link_case("link_gru", L::StatefulGRU(5, 6), {uniform({2, 5})});
  link_case("link_stateless_gru", L::StatelessGRU(5, 6), {uniform({2, 6}), uniform({2, 5})});
  link_case("link_mgu", L::StatelessMGU(5, 6), {uniform({2, 6}), uniform({2, 5})});
  link_case("link_peephole_lstm", L::StatefulPeepholeLSTM(5, 6), {uniform({2, 5})});
  {
    L::ChildSumTreeLSTM tree(5, 6);
    write_case(
        "link_tree_lstm",
        [&](const Variable& c, const Variable& h, const Variable& x) {
          const auto out = tree({c, c}, {h, h}, x);
          return Variables(out.c, out.h);
        },
        {uniform({2, 6}), uniform({2, 6}), uniform({2, 5})}, &tree);
  }
  link_case("link_zoneout_lstm", L::StatefulZoneoutLSTM(5, 6), {uniform({2, 5})});
}

void whole_models() {
  const Variable small = uniform({2, 3, 32, 32}, 0, 1);
  link_case("model_cifar_cnn", L::CifarCnn(), {small});
  const Variable photo = uniform({1, 3, 100, 64});
  link_case("model_retinanet_resnet18", L::RetinaNet({.n_classes = 3, .depth = 18}), {photo});
  link_case("model_efficientdet_d0", L::EfficientDet({.n_classes = 3}), {photo});
  link_case("model_resnet18_cifar", L::ResNet18({.n_classes = 10, .stem = L::ResNetStem::cifar}), {small});
  link_case("model_mobilenet_v2_cifar", L::MobileNetV2({.n_classes = 10, .stem = L::MobileNetV2Stem::cifar}), {small});
  link_case("model_vgg16_small", L::VGG16Layers({.n_classes = 10, .image_size = 32}), {small});
  const Variable image = uniform({1, 3, 224, 224}, 0, 1);
  link_case("model_resnet50", L::ResNet50(), {image}, false);
  link_case("model_resnet50_layers", L::ResNet50Layers(), {image}, false);
  link_case("model_mobilenet_v2", L::MobileNetV2(), {image}, false);
  link_case("model_googlenet", L::GoogLeNet(), {image}, false);
  link_case("model_mlp", Sequential(L::Linear(784, 100), F::relu, L::Linear(100, 10)), {uniform({2, 1, 28, 28})});
  both("custom_function",
       [](const Variable& x) {
         const auto relu = [](std::span<const Variable> xs) { return F::relu(xs[0]); };
         return onnx::function("Elu", {x * 2}, {{"alpha", 0.0}}, relu);
       },
       {uniform({2, 3})});
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::printf("usage: %s FOLDER [OPSET [PART OF A NAME]]\n", arguments[0]);
    return 2;
  }
  g_writer = std::make_unique<testing::CaseWriter>(arguments[1], count > 2 ? std::atoi(arguments[2]) : 21,
                                                   count > 3 ? arguments[3] : "");
  const auto mode = using_config(&Config::train, false);
  for (const auto write : {activations, mathematics, arrays, connections, poolings, normalizations, in_training, losses,
                           attentions, recurrent, whole_models})
    write();
  g_writer->print();
  return g_writer->failures() == 0 ? 0 : 1;
}
