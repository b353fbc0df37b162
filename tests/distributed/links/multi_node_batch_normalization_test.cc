#include "kusari/framework/distributed/links/multi_node_batch_normalization.h"

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/distributed/multi_node_optimizer.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/sequential.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/distributed/functions/collective_check.h"
#include "kusari/tests/golden_data.h"

namespace kusari {
namespace {

using distributed::Communicator;
using distributed::MultiNodeBatchNormalization;
using testing::check_between_ranks;
using testing::on_ranks;
using testing::uniform;
namespace L = links;

using Numbers = std::vector<double>;

/// Gammas and betas that differ.
template <class Link>
void set_parameters(Link& link, int64_t channels) {
  link.gamma.set_array(uniform({channels}, 0.5, 2, 91));
  link.beta.set_array(uniform({channels}, -1, 1, 92));
  link.cleargrads();
}

TEST_CASE("MultiNodeBatchNormalization: gradients of first and second order are those of the whole batch") {
  enum class Form { plain, relu, add_relu };
  for (const Form form : {Form::plain, Form::relu, Form::add_relu}) {
    CAPTURE(static_cast<int>(form));
    const auto call = [form](const L::BatchNormalization& link, const Variable& x) {
      if (form == Form::plain) return link(x);
      return form == Form::relu ? link.relu(x) : link.add_relu(x, x * 0.25);
    };
    check_between_ranks(
        [&](Communicator& comm, const Variable& x) {
          MultiNodeBatchNormalization link(3, comm, {.dtype = Dtype::float64});
          set_parameters(link, 3);
          return std::vector<Variable>{call(link, x)};
        },
        [&](const std::vector<Variable>& xs) {
          L::BatchNormalization link(3, {.dtype = Dtype::float64});
          set_parameters(link, 3);
          const Variable y = call(link, F::concat(xs, 0));
          std::vector<std::vector<Variable>> outputs;
          for (const Variable& part : F::split_axis(y, static_cast<int64_t>(xs.size()), 0)) outputs.push_back({part});
          return outputs;
        },
        [](int) {
          return Shape{3, 3, 2};
        },
        1e-12);
  }
}

/// Batches of 2, 1, 4 and no examples.
constexpr int64_t kExamples[] = {2, 1, 4, 0};

TEST_CASE("MultiNodeBatchNormalization: batches that are empty on all ranks leave the running statistics alone") {
  on_ranks<int>(2, [&](Communicator& comm) {
    MultiNodeBatchNormalization link(3, comm);
    link.avg_mean.fill(5);
    link.avg_var.fill(3);
    link(zeros({0, 3}));
    link(zeros({4, 3, 0, 2}));
    CHECK(link.avg_mean.to_vector<float>() == std::vector<float>(3, 5));
    CHECK(link.avg_var.to_vector<float>() == std::vector<float>(3, 3));
    return 0;
  });
}

TEST_CASE("MultiNodeBatchNormalization: uneven batches, one of them empty, give what the whole batch gives") {
  for (const int n : {2, 3, 4}) {
    CAPTURE(n);
    const int64_t total = std::accumulate(kExamples, kExamples + n, int64_t{0});
    const Array whole = uniform({total, 3, 2, 2}, -1, 3, 5), weights = uniform({total, 3, 2, 2}, -1, 1, 6);
    const auto begin_of = [](int rank) { return std::accumulate(kExamples, kExamples + rank, int64_t{0}); };
    // A rank's loss is the mean over its examples.
    const auto loss_of = [](const Variable& y, const Array& w, int64_t examples) {
      return examples == 0 ? F::sum(y) : F::sum(Variable(w, false) * F::exp(y)) / static_cast<double>(examples);
    };
    struct Result {
      Numbers y, gx, ggamma, gbeta, avg_mean, avg_var;
    };
    const auto results = on_ranks<Result>(n, [&](Communicator& comm) {
      const int64_t begin = begin_of(comm.rank()), count = kExamples[comm.rank()];
      MultiNodeBatchNormalization link(3, comm, {.dtype = Dtype::float64});
      set_parameters(link, 3);
      const Variable x(whole.slice(0, begin, count).copy());
      const Variable y = link(x);
      loss_of(y, weights.slice(0, begin, count), count).backward();
      return Result{y.to_vector<double>(),
                    x.grad().to_vector<double>(),
                    link.gamma.grad().to_vector<double>(),
                    link.beta.grad().to_vector<double>(),
                    link.avg_mean.to_vector<double>(),
                    link.avg_var.to_vector<double>()};
    });

    L::BatchNormalization link(3, {.dtype = Dtype::float64});
    set_parameters(link, 3);
    const Variable x(whole);
    const Variable y = link(x);
    loss_of(y, weights, total).backward();
    Numbers ys, gx, ggamma(3, 0.0), gbeta(3, 0.0);
    for (int rank = 0; rank < n; ++rank) {
      const Result& result = results[static_cast<size_t>(rank)];
      const double weight = static_cast<double>(kExamples[rank]) / static_cast<double>(total);
      ys.insert(ys.end(), result.y.begin(), result.y.end());
      for (const double value : result.gx) gx.push_back(value * weight);
      for (size_t i = 0; i < 3; ++i) {
        ggamma[i] += weight * result.ggamma[i];
        gbeta[i] += weight * result.gbeta[i];
      }
      testing::check_close(array(result.avg_mean), {3}, link.avg_mean.to_vector<double>(), 10);
      testing::check_close(array(result.avg_var), {3}, link.avg_var.to_vector<double>(), 10);
      CHECK(result.avg_mean == results[0].avg_mean);  // to the bit
      CHECK(result.avg_var == results[0].avg_var);
    }
    testing::check_close(array(ys), {y.size()}, y.to_vector<double>(), 100);
    testing::check_close(array(gx), {x.size()}, x.grad().to_vector<double>(), 100);
    testing::check_close(array(ggamma), {3}, link.gamma.grad().to_vector<double>(), 100);
    testing::check_close(array(gbeta), {3}, link.beta.grad().to_vector<double>(), 100);
  }
}

TEST_CASE("MultiNodeBatchNormalization: statistics far from zero keep their digits, in float16 too") {
  // E[x^2] - mean^2 in float32 would lose the variance of 1 beside 1e8 altogether.
  on_ranks<int>(2, [](Communicator& comm) {
    const float at = 10000.0f;
    const Variable x(
        array<float>(comm.is_root() ? std::vector<float>{at - 1, at + 1} : std::vector<float>{at, at + 2}, {2, 1}));
    MultiNodeBatchNormalization link(1, comm, {.decay = 0.0});
    link(x);
    CHECK(link.avg_mean.to_vector<float>()[0] == at + 0.5f);
    CHECK(link.avg_var.to_vector<float>()[0] == doctest::Approx(1.25 * 4 / 3).epsilon(1e-4));

    const Variable half(uniform({4, 3}, -1, 1, static_cast<uint64_t>(comm.rank())).astype(Dtype::float16));
    MultiNodeBatchNormalization mixed(3, comm, {.dtype = Dtype::float32});
    const Variable y = mixed(half);
    CHECK(y.dtype() == Dtype::float16);
    F::sum(y * y * y).backward();
    CHECK(half.grad().dtype() == Dtype::float16);
    CHECK(mixed.gamma.grad().dtype() == Dtype::float32);
    return 0;
  });
}

TEST_CASE("MultiNodeBatchNormalization: test mode uses the averages and asks nobody") {
  on_ranks<int>(2, [](Communicator& comm) {
    MultiNodeBatchNormalization link(2, comm);
    const auto testing_mode = using_config(&Config::train, false);
    if (comm.is_root()) {  // the other rank does not call it
      CHECK(link(Variable(full({1, 2}, 3.0, Dtype::float32))).to_vector<float>()[0] ==
            doctest::Approx(3.0).epsilon(1e-4));
    }
    return 0;
  });
}

TEST_CASE("MultiNodeBatchNormalization: ChainerMN's numbers") {
  for (const int n : {2, 3}) {
    CAPTURE(n);
    const serializers::NpzReader golden(testing::golden_path("chainermn/naive_" + std::to_string(n) + ".npz"));
    const auto of_rank = [&](const char* key, int rank) {
      const Array all = golden.array(std::string("mnbn/") + key);
      return all.slice(0, rank, 1).reshape(Shape(all.shape().begin() + 1, all.shape().end())).copy();
    };
    on_ranks<int>(n, [&](Communicator& comm) {
      MultiNodeBatchNormalization link(4, comm);
      link.gamma.set_array(array<float>({0.5f, 1, 1.5f, 2}));
      link.beta.set_array(array<float>({-1, 0, 1, 2}));
      link.cleargrads();
      const Variable x(of_rank("x", comm.rank()));
      Variable y = link(x);
      y.set_grad(of_rank("gy", comm.rank()));
      y.backward();
      const auto check = [](const Array& found, const Array& expected, double factor) {
        testing::check_close(found, expected.shape(), expected.astype(Dtype::float64).to_vector<double>(), factor);
      };
      check(y.array(), of_rank("y", comm.rank()), 10);
      check(x.grad(), of_rank("gx", comm.rank()), 10);
      // There the ranks' gradients are averaged in backward already, here by the optimizer.
      check(comm.multi_node_mean(link.gamma.grad()), of_rank("ggamma", comm.rank()), 10);
      check(comm.multi_node_mean(link.beta.grad()), of_rank("gbeta", comm.rank()), 10);
      check(link.avg_mean, golden.array("mnbn/avg_mean"), 10);
      // There the averages start from 0 and the unbiased factor is that of a rank's 6 elements.
      const double whole = 6.0 * n, factor = whole / (whole - 1) / (6.0 / 5.0);
      Numbers expected = golden.array("mnbn/avg_var").astype(Dtype::float64).to_vector<double>();
      for (double& value : expected) value = 0.9 + value * factor;
      testing::check_close(link.avg_var, {4}, expected, 10);
      return 0;
    });
  }
}

class Network : public Chain {
 public:
  Network()
      : net{*this, "net",
            Sequential(L::Linear(3, 8), L::BatchNormalization(8), [](const Variable& h) { return F::relu(h); })},
        bn{*this, "bn", 8},
        out{*this, "out", 8, 2} {}
  Variable operator()(const Variable& x) { return out(bn(net(x))); }
  Child<Sequential> net;
  Child<L::BatchNormalization> bn;
  Child<L::Linear> out;
};

TEST_CASE("create_mnbn_model: a copy that trains as one process with the whole batch does") {
  constexpr int64_t kBatch = 7;
  constexpr int kSteps = 10;
  const auto batch = [](int step) { return uniform({kBatch, 3}, -1, 2, static_cast<uint64_t>(step) + 1); };
  const auto targets = [](int step) { return uniform({kBatch, 2}, -1, 1, static_cast<uint64_t>(step) + 101); };
  Network model;
  model.to(Dtype::float64);
  const Network start(model);

  optimizers::MomentumSGD alone(0.05, 0.9);
  alone.setup(model);
  for (int step = 0; step < kSteps; ++step) {
    alone.update(
        [&] { return F::mean_squared_error(model(Variable(batch(step), false)), Variable(targets(step), false)); });
  }

  for (const int n : {2, 3, 4}) {  // of 7 examples some ranks have one more
    CAPTURE(n);
    on_ranks<int>(n, [&](Communicator& comm) {
      Network own(start);
      Network copied = distributed::create_mnbn_model(own, comm);
      CHECK(own.bn.exchange() == nullptr);
      int synchronized = 0;
      for (Link* link : copied.links()) {
        const auto* normalization = dynamic_cast<L::BatchNormalization*>(link);
        if (normalization != nullptr && normalization->exchange() != nullptr) ++synchronized;
      }
      CHECK(synchronized == 2);
      const int64_t begin = kBatch * comm.rank() / comm.size();
      const int64_t count = kBatch * (comm.rank() + 1) / comm.size() - begin;
      auto optimizer = distributed::create_multi_node_optimizer(optimizers::MomentumSGD(0.05, 0.9), comm);
      optimizer.setup(copied);
      for (int step = 0; step < kSteps; ++step) {
        distributed::note_examples(optimizer, count);
        optimizer.update([&] {
          return F::mean_squared_error(copied(Variable(batch(step).slice(0, begin, count), false)),
                                       Variable(targets(step).slice(0, begin, count), false));
        });
      }
      for (const auto& [path, parameter] : copied.namedparams()) {
        CAPTURE(path);
        testing::check_close(parameter->array(), parameter->shape(), model.param(path).to_vector<double>(), 1e3);
      }
      testing::check_close(copied.bn.avg_var, {8}, model.bn.avg_var.to_vector<double>(), 1e3);
      return 0;
    });
  }
}

}  // namespace
}  // namespace kusari
