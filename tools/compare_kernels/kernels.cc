// Kusari's pointwise, reduction and softmax kernels beside LibTorch's out-variants, in one process: each round calls
// the one, then the other, so that what disturbs the machine disturbs both. Built and run by tools/compare_kernels/run.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"
#include "kusari/framework/kernels/softmax.h"

namespace {

namespace k = kusari::kernels;
using kusari::Array;

struct Case {
  std::string name;
  std::function<void()> ours, theirs;
  Array y;           // ours
  at::Tensor other;  // theirs
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double seconds(const std::function<void()>& call, int64_t times) {
  const double start = now();
  for (int64_t i = 0; i < times; ++i) call();
  return (now() - start) / static_cast<double>(times);
}

// Both libraries keep threads that wait for work by spinning, on the processors that the other one then needs: they go
// to sleep within this time.
constexpr double kSettle = 0.008;

double seconds_when_settled(const std::function<void()>& call, int64_t times) {
  for (const double end = now() + kSettle; now() < end;) call();
  return seconds(call, times);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The results must agree: what is timed has to be the same computation.
double largest_difference(const Case& c) {
  const std::vector<double> ours = c.y.to_vector<double>();
  const at::Tensor theirs = c.other.to(at::kDouble).contiguous();
  double worst = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    const double t = theirs.data_ptr<double>()[i];
    worst = std::max(worst, std::abs(ours[i] - t) / (1 + std::abs(t)));
  }
  return worst;
}

// One line: name, elements, threads, microseconds of ours and theirs, and the median ratio of the rounds.
void measure(const Case& c, int64_t elements, int threads, int rounds, double slice) {
  c.ours();
  c.theirs();
  const double difference = largest_difference(c);
  const auto times = [&](const std::function<void()>& call) {
    seconds(call, 10);
    return std::max<int64_t>(1, static_cast<int64_t>(slice / seconds(call, 20)));
  };
  const int64_t n_ours = times(c.ours), n_theirs = times(c.theirs);
  std::vector<double> ours, theirs, ratios;
  for (int round = 0; round < rounds; ++round) {
    const bool first = round % 2 == 0;
    const double a = first ? seconds_when_settled(c.ours, n_ours) : seconds_when_settled(c.theirs, n_theirs);
    const double b = first ? seconds_when_settled(c.theirs, n_theirs) : seconds_when_settled(c.ours, n_ours);
    ours.push_back(first ? a : b);
    theirs.push_back(first ? b : a);
    ratios.push_back(ours.back() / theirs.back());
  }
  std::printf(
      "{\"kernel\":\"%s\",\"elements\":%lld,\"threads\":%d,\"kusari_us\":%.3f,\"libtorch_us\":%.3f,\"ratio\":%.4f,"
      "\"difference\":%.2g}\n",
      c.name.c_str(), static_cast<long long>(elements), threads, median(ours) * 1e6, median(theirs) * 1e6,
      median(ratios), difference);
  std::fflush(stdout);
}

class Cases {
 public:
  // Matrices of rows x columns.
  Cases(int64_t rows, int64_t columns) : rows_{rows}, columns_{columns} {
    std::vector<float> a(static_cast<size_t>(rows * columns)), b(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<float>(static_cast<int64_t>(i * 7919 % 2001) - 1000) / 250 + 0.001F;
      b[i] = static_cast<float>(static_cast<int64_t>(i * 6271 % 1999) + 1) / 500;
    }
    x_ = make(a, rows, columns);
    positive_ = make(b, rows, columns);
    unit_ = make(
        [&] {
          std::vector<float> u(a.size());
          for (size_t i = 0; i < u.size(); ++i) u[i] = a[i] / 4.1F;
          return u;
        }(),
        rows, columns);
    row_ = make({a.begin(), a.begin() + columns}, 1, columns);
    column_ = make({b.begin(), b.begin() + rows}, rows, 1);
    pointwise();
    reductions();
    softmaxes();
  }
  const std::vector<Case>& all() const { return cases_; }

 private:
  struct Pair {
    Array ours;
    at::Tensor theirs;
  };

  static Pair make(const std::vector<float>& values, int64_t rows, int64_t columns) {
    return {kusari::array<float>(values, {rows, columns}),
            torch::from_blob(const_cast<float*>(values.data()), {rows, columns}).clone()};
  }

  template <class Op, class Theirs, class... X>
  void add(const char* name, const Op& op, Theirs theirs, const X&... x) {
    const Array y = kusari::empty({rows_, columns_}, kusari::Dtype::float32);
    const at::Tensor out = torch::empty({rows_, columns_});
    cases_.push_back({name, [=] { kusari::pointwise_to(y, op, x.ours...); },
                      [=] { theirs(const_cast<at::Tensor&>(out), x.theirs...); }, y, out});
  }
  template <class R, class Theirs>
  void reduce(const char* name, const R& reducer, kusari::AxisMask axes, kusari::Dtype dtype, Theirs theirs) {
    const Array y = kusari::empty(kusari::reduced_shape(x_.ours.shape(), axes, false), dtype);
    at::Tensor out = torch::empty({0}, dtype == kusari::Dtype::float32 ? at::kFloat : at::kLong);
    theirs(out, x_.theirs);
    const Array x = x_.ours;
    cases_.push_back({name, [=] { kusari::launch<k::Reduction<R>>(x.device(), reducer, axes, x, y); },
                      [theirs, out, t = x_.theirs]() mutable { theirs(out, t); }, y, out});
  }
  template <class Kernel, class Theirs>
  void along(const char* name, int axis, kusari::Dtype dtype, bool keeps_shape, Theirs theirs) {
    const kusari::AxisMask axes = kusari::AxisMask::of(axis);
    const Array y =
        kusari::empty(keeps_shape ? x_.ours.shape() : kusari::reduced_shape(x_.ours.shape(), axes, false), dtype);
    at::Tensor out = torch::empty({0}, dtype == kusari::Dtype::float32 ? at::kFloat : at::kLong);
    theirs(out, x_.theirs);
    const Array x = x_.ours;
    cases_.push_back({name, [=] { kusari::launch<Kernel>(x.device(), axis, x, y); },
                      [theirs, out, t = x_.theirs]() mutable { theirs(out, t); }, y, out});
  }

  void pointwise() {
    using T = at::Tensor&;
    using C = const at::Tensor&;
    add(
        "add", k::Add{}, [](T y, C a, C b) { at::add_out(y, a, b); }, x_, positive_);
    add(
        "sub", k::Sub{}, [](T y, C a, C b) { at::sub_out(y, a, b); }, x_, positive_);
    add(
        "mul", k::Mul{}, [](T y, C a, C b) { at::mul_out(y, a, b); }, x_, positive_);
    add(
        "div", k::Div{}, [](T y, C a, C b) { at::div_out(y, a, b); }, x_, positive_);
    add(
        "maximum", k::Maximum{}, [](T y, C a, C b) { at::maximum_out(y, a, b); }, x_, positive_);
    add(
        "add_row", k::Add{}, [](T y, C a, C b) { at::add_out(y, a, b); }, x_, row_);
    add(
        "mul_column", k::Mul{}, [](T y, C a, C b) { at::mul_out(y, a, b); }, x_, column_);
    add(
        "pow", k::Pow{}, [](T y, C a, C b) { at::pow_out(y, a, b); }, positive_, x_);
    add(
        "arctan2", k::Arctan2{}, [](T y, C a, C b) { at::atan2_out(y, a, b); }, x_, positive_);
    add(
        "neg", k::Neg{}, [](T y, C a) { at::neg_out(y, a); }, x_);
    add(
        "abs", k::Abs{}, [](T y, C a) { at::abs_out(y, a); }, x_);
    add(
        "sign", k::Sign{}, [](T y, C a) { at::sign_out(y, a); }, x_);
    add(
        "square", k::Square{}, [](T y, C a) { at::square_out(y, a); }, x_);
    add(
        "sqrt", k::Sqrt{}, [](T y, C a) { at::sqrt_out(y, a); }, positive_);
    add(
        "rsqrt", k::Rsqrt{}, [](T y, C a) { at::rsqrt_out(y, a); }, positive_);
    add(
        "exp", k::Exp{}, [](T y, C a) { at::exp_out(y, a); }, x_);
    add(
        "expm1", k::Expm1{}, [](T y, C a) { at::expm1_out(y, a); }, x_);
    add(
        "log", k::Log{}, [](T y, C a) { at::log_out(y, a); }, positive_);
    add(
        "log1p", k::Log1p{}, [](T y, C a) { at::log1p_out(y, a); }, positive_);
    add(
        "log2", k::Log2{}, [](T y, C a) { at::log2_out(y, a); }, positive_);
    add(
        "log10", k::Log10{}, [](T y, C a) { at::log10_out(y, a); }, positive_);
    add(
        "sin", k::Sin{}, [](T y, C a) { at::sin_out(y, a); }, x_);
    add(
        "cos", k::Cos{}, [](T y, C a) { at::cos_out(y, a); }, x_);
    add(
        "tan", k::Tan{}, [](T y, C a) { at::tan_out(y, a); }, x_);
    add(
        "arcsin", k::Arcsin{}, [](T y, C a) { at::asin_out(y, a); }, unit_);
    add(
        "arccos", k::Arccos{}, [](T y, C a) { at::acos_out(y, a); }, unit_);
    add(
        "arctan", k::Arctan{}, [](T y, C a) { at::atan_out(y, a); }, x_);
    add(
        "sinh", k::Sinh{}, [](T y, C a) { at::sinh_out(y, a); }, x_);
    add(
        "cosh", k::Cosh{}, [](T y, C a) { at::cosh_out(y, a); }, x_);
    add(
        "arctanh", k::Arctanh{}, [](T y, C a) { at::atanh_out(y, a); }, unit_);
    add(
        "erf", k::Erf{}, [](T y, C a) { at::erf_out(y, a); }, x_);
    add(
        "erfc", k::Erfc{}, [](T y, C a) { at::erfc_out(y, a); }, x_);
    add(
        "lgamma", k::Lgamma{}, [](T y, C a) { at::lgamma_out(y, a); }, positive_);
    add(
        "floor", k::Floor{}, [](T y, C a) { at::floor_out(y, a); }, x_);
    add(
        "ceil", k::Ceil{}, [](T y, C a) { at::ceil_out(y, a); }, x_);
    add(
        "clip", k::Clip{-1, 1}, [](T y, C a) { at::clamp_out(y, a, -1, 1); }, x_);
    add(
        "relu", k::Relu{}, [](T y, C a) { at::clamp_min_out(y, a, 0); }, x_);
    add(
        "leaky_relu", k::LeakyRelu{0.2}, [](T y, C a) { at::leaky_relu_out(y, a, 0.2); }, x_);
    add(
        "elu", k::Elu{1.0}, [](T y, C a) { at::elu_out(y, a); }, x_);
    add(
        "softplus", k::Softplus{1.0}, [](T y, C a) { at::softplus_out(y, a); }, x_);
    add(
        "sigmoid", k::Sigmoid{}, [](T y, C a) { at::sigmoid_out(y, a); }, x_);
    add(
        "tanh", k::Tanh{}, [](T y, C a) { at::tanh_out(y, a); }, x_);
    add(
        "sigmoid_grad", k::SigmoidGrad{}, [](T y, C a, C g) { at::sigmoid_backward_out(y, g, a); }, unit_, x_);
    add(
        "tanh_grad", k::TanhGrad{}, [](T y, C a, C g) { at::tanh_backward_out(y, g, a); }, unit_, x_);
  }

  void reductions() {
    using T = at::Tensor&;
    using C = const at::Tensor&;
    constexpr auto kFloat = kusari::Dtype::float32;
    const auto all = kusari::AxisMask::all(2), rows = kusari::AxisMask::of(0), columns = kusari::AxisMask::of(1);
    reduce("sum", k::Sum{}, all, kFloat, [](T y, C x) { at::sum_out(y, x, at::IntArrayRef{0, 1}); });
    reduce("sum_axis0", k::Sum{}, rows, kFloat, [](T y, C x) { at::sum_out(y, x, 0); });
    reduce("sum_axis1", k::Sum{}, columns, kFloat, [](T y, C x) { at::sum_out(y, x, 1); });
    reduce("mean_axis0", k::Mean{}, rows, kFloat, [](T y, C x) { at::mean_out(y, x, 0); });
    reduce("mean_axis1", k::Mean{}, columns, kFloat, [](T y, C x) { at::mean_out(y, x, 1); });
    reduce("max", k::Max{}, all, kFloat, [](T y, C x) { at::amax_out(y, x, at::IntArrayRef{0, 1}); });
    reduce("max_axis0", k::Max{}, rows, kFloat, [](T y, C x) { at::amax_out(y, x, 0); });
    reduce("max_axis1", k::Max{}, columns, kFloat, [](T y, C x) { at::amax_out(y, x, 1); });
    reduce("min_axis1", k::Min{}, columns, kFloat, [](T y, C x) { at::amin_out(y, x, 1); });
    reduce("prod_axis1", k::Prod{}, columns, kFloat, [](T y, C x) { at::prod_out(y, x, 1); });
    along<k::Argmax>("argmax_axis0", 0, kusari::Dtype::int64, false, [](T y, C x) { at::argmax_out(y, x, 0); });
    along<k::Argmax>("argmax_axis1", 1, kusari::Dtype::int64, false, [](T y, C x) { at::argmax_out(y, x, 1); });
    along<k::Argmin>("argmin_axis1", 1, kusari::Dtype::int64, false, [](T y, C x) { at::argmin_out(y, x, 1); });
    along<k::Logsumexp>("logsumexp_axis1", 1, kFloat, false, [](T y, C x) { at::logsumexp_out(y, x, 1); });
  }

  void softmaxes() {
    using T = at::Tensor&;
    using C = const at::Tensor&;
    constexpr auto kFloat = kusari::Dtype::float32;
    along<k::Softmax>("softmax_axis1", 1, kFloat, true, [](T y, C x) { at::softmax_out(y, x, 1); });
    along<k::Softmax>("softmax_axis0", 0, kFloat, true, [](T y, C x) { at::softmax_out(y, x, 0); });
    along<k::LogSoftmax>("log_softmax_axis1", 1, kFloat, true, [](T y, C x) { at::log_softmax_out(y, x, 1); });
    along<k::LogSoftmax>("log_softmax_axis0", 0, kFloat, true, [](T y, C x) { at::log_softmax_out(y, x, 0); });
    gradient<k::SoftmaxGrad>("softmax_grad",
                             [](T gx, C gy, C y) { at::_softmax_backward_data_out(gx, gy, y, 1, at::kFloat); });
    gradient<k::LogSoftmaxGrad>("log_softmax_grad",
                                [](T gx, C gy, C y) { at::_log_softmax_backward_data_out(gx, gy, y, 1, at::kFloat); });
  }
  template <class Kernel, class Theirs>
  void gradient(const char* name, Theirs theirs) {
    const Array gx = kusari::empty({rows_, columns_}, kusari::Dtype::float32);
    const at::Tensor out = torch::empty({rows_, columns_});
    const Pair y = unit_, gy = x_;
    cases_.push_back({name, [=] { kusari::launch<Kernel>(gx.device(), 1, y.ours, gy.ours, gx); },
                      [=] { theirs(const_cast<at::Tensor&>(out), gy.theirs, y.theirs); }, gx, out});
  }

  int64_t rows_, columns_;
  Pair x_, positive_, unit_, row_, column_;
  std::vector<Case> cases_;
};

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  const double slice = argc > 3 ? std::atof(argv[3]) : 0.01;
  const std::string only = argc > 4 ? argv[4] : "";
  kusari::set_num_threads(threads);
  at::set_num_threads(threads);
  const torch::NoGradGuard no_grad;
  struct Size {
    int64_t rows, columns;
  };
  for (const Size size : {Size{10, 100}, Size{60, 1000}, Size{1000, 1000}}) {
    const Cases cases(size.rows, size.columns);
    for (const Case& c : cases.all()) {
      if (only.empty() || c.name == only) measure(c, size.rows * size.columns, threads, rounds, slice);
    }
  }
  return 0;
}
