#pragma once

// A network of three layers that is spread over two ranks, as Chainer's examples of model parallelism have it: the
// first layer and the loss on rank 0, the two others on rank 1.

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

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

struct Arguments {
  int64_t batchsize = 100;
  int64_t epoch = 20;
  std::string device = "cpu";
  std::string out = "result";
  int64_t unit = 1000;
  int64_t seed = -1;
  std::string data = "auto";
};

inline void add_flags(CLI::App& parser, Arguments& args) {
  parser.add_option("-b,--batchsize", args.batchsize, "Number of images in each mini-batch")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-e,--epoch", args.epoch, "Number of sweeps over the dataset to train")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-d,--device,-g,--gpu", args.device, "cpu, cuda:N, or cuda: the GPU of a process's number")
      ->capture_default_str();
  parser.add_option("-o,--out", args.out, "Directory to output the result")->capture_default_str();
  parser.add_option("-u,--unit", args.unit, "Number of units")->check(CLI::PositiveNumber)->capture_default_str();
  parser.add_option("--seed", args.seed, "Seed of the random numbers; runs with the same one are the same");
  parser.add_option("--data", args.data, "mnist, stroke-digits, or auto: MNIST where there is a way to it")
      ->check(CLI::IsMember({"auto", "mnist", "stroke-digits"}))
      ->capture_default_str();
}

inline void print_head(const Arguments& args, const char* parallelism, int processes) {
  std::printf("Device: %s\n", args.device.c_str());
  std::printf("# processes: %d, %s\n", processes, parallelism);
  std::printf("# unit: %lld\n", static_cast<long long>(args.unit));
  std::printf("# Minibatch-size: %lld\n", static_cast<long long>(args.batchsize));
  std::printf("# epoch: %lld\n\n", static_cast<long long>(args.epoch));
}

// What prints and logs, for the one rank that does.
inline void extend_with_reports(kusari::training::Trainer& trainer, kusari::extensions::LogReport& log) {
  trainer.extend(log);
  trainer.extend(kusari::extensions::PrintReport(
      {"epoch", "main/loss", "validation/main/loss", "main/accuracy", "validation/main/accuracy", "elapsed_time"}));
  trainer.extend(kusari::extensions::ProgressBar());
}

}  // namespace two_stages
