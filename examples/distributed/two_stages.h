#pragma once

// A network of three layers that is spread over two ranks, as Chainer's examples of model parallelism have it: the
// first layer and the loss on rank 0, the two others on rank 1.

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include <kusari/kusari.h>

#include "kusari/examples/common/banner.h"
#include "kusari/examples/common/flags.h"
#include "kusari/examples/distributed/common.h"

namespace two_stages {

namespace F = kusari::functions;
namespace L = kusari::links;
using kusari::Variable;

class FirstLayer : public kusari::Chain {
 public:
  explicit FirstLayer(int64_t units) : l1{*this, "l1", 784, units} {}
  Variable operator()(const Variable& x) const { return F::relu(l1(x)); }

 private:
  kusari::Child<L::Linear> l1;
};

// Hands on what rank 1 gives.
class Scores : public kusari::Chain {
 public:
  Variable operator()(const Variable& y) const { return y; }
};

class OtherLayers : public kusari::Chain {
 public:
  OtherLayers(int64_t units, int64_t classes)
      : l2{*this, "l2", kusari::kInfer, units}, l3{*this, "l3", units, classes} {}
  Variable operator()(const Variable& h) const { return l3(F::relu(l2(h))); }

 private:
  kusari::Child<L::Linear> l2, l3;
};

// Rank 0's part.
inline kusari::distributed::MultiNodeChainList first_stage(const kusari::distributed::Communicator& comm,
                                                           int64_t units) {
  kusari::distributed::MultiNodeChainList model(comm);
  model.add_link(FirstLayer(units), {.rank_out = 1});
  model.add_link(Scores(), {.rank_in = 1});
  return model;
}

// Rank 1's.
inline kusari::distributed::MultiNodeChainList second_stage(const kusari::distributed::Communicator& comm,
                                                            int64_t units, int64_t classes) {
  kusari::distributed::MultiNodeChainList model(comm);
  model.add_link(OtherLayers(units, classes), {.rank_in = 0, .rank_out = 0});
  return model;
}

struct Arguments : Flags {
  int64_t batchsize = count("-b,--batchsize", 100, "Number of images in each mini-batch");
  int64_t epoch = count("-e,--epoch", 20, "Number of sweeps over the dataset to train");
  std::string device = device_of_rank_flag(*this);
  std::string out = out_flag();
  int64_t unit = count("-u,--unit", 1000, "Number of units");
  int64_t seed = seed_flag();
  std::string data = digits_flag();
};

inline void print_head(const Arguments& args, const std::string& parallelism, int processes) {
  print_banner({{"Device", args.device},
                {"# processes", std::to_string(processes) + ", " + parallelism},
                {"# unit", args.unit},
                {"# Minibatch-size", args.batchsize},
                {"# epoch", args.epoch}});
}

// What prints and logs, for the one rank that does.
inline void extend_with_reports(kusari::training::Trainer& trainer, kusari::extensions::LogReport& log) {
  trainer.extend(log);
  trainer.extend(kusari::extensions::PrintReport(
      {"epoch", "main/loss", "validation/main/loss", "main/accuracy", "validation/main/accuracy", "elapsed_time"}));
  trainer.extend(kusari::extensions::ProgressBar());
}

}  // namespace two_stages
