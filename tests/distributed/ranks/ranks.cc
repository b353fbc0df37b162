// A training run for tests of several processes: `ranks SCENARIO [options]`. Something may go wrong on one rank.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "kusari/kusari.h"
#include "kusari/tests/distributed/small_models.h"

using namespace kusari;

namespace {

struct Arguments {
  std::string scenario;
  std::string place = "extension";
  bool saves = false;
  bool shards = false;
  int64_t pause = 0;
  int rank = 1;
  int64_t at = 3;
  int64_t steps = 10;
  std::string out;
};

/// Overwrites the middle of the newest snapshot: what a disk or a careless program may do.
void damage_newest_snapshot(const std::string& folder) {
  namespace fs = std::filesystem;
  fs::path newest;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("snapshot_iter_")) continue;
    if (newest.empty() || entry.last_write_time() > fs::last_write_time(newest)) newest = entry.path();
  }
  if (newest.empty()) return;
  const auto size = static_cast<std::streamoff>(fs::file_size(newest));
  std::fstream file(newest, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(size / 3);
  const std::string noise(static_cast<size_t>(size / 3), '\x5a');
  file.write(noise.data(), static_cast<std::streamsize>(noise.size()));
}

/// What happens at a step of the rank that it is about.
void happen(const Arguments& args, const distributed::Communicator& comm) {
  if (comm.rank() != args.rank) return;
  if (args.scenario == "corrupt") {
    damage_newest_snapshot(args.out);
    std::raise(SIGKILL);
  }
  std::fflush(nullptr);
  if (args.scenario == "throw") throw ValueError("the data is gone");
  if (args.scenario == "kill") std::raise(SIGKILL);
  if (args.scenario == "crash") std::raise(SIGSEGV);
  if (args.scenario == "stop") std::raise(SIGSTOP);
  if (args.scenario == "exit") std::exit(3);
  if (args.scenario == "terminate") std::terminate();
  if (args.scenario == "order") comm.barrier();
}

class Interrupted final : public training::Extension {
 public:
  Interrupted(const Arguments& args, const distributed::Communicator& comm) : args_{args}, comm_{comm} {}
  void operator()(training::Trainer& trainer) override {
    if (args_.pause > 0) std::this_thread::sleep_for(std::chrono::milliseconds(args_.pause));
    if (args_.place == "extension" && trainer.updater().iteration() == args_.at) happen(args_, comm_);
  }
  void on_error(training::Trainer&, const std::exception&) override {
    std::fprintf(stderr, "on_error of rank %d\n", comm_.rank());
  }
  std::string default_name() const override { return "Interrupted"; }

 private:
  Arguments args_;
  distributed::Communicator comm_;
};

void save_values(Link& model, const std::string& path) {
  const std::vector<double> values = testing::values_of(model);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(double)));
}

class Examples final : public datasets::Dataset {
 public:
  int64_t size() const override { return 60; }
  datasets::Example get(int64_t i) const override {
    const testing::TestBatch one = testing::test_batch(1, {12}, static_cast<int>(i));
    return {one.x.at(0), one.t.at(0)};
  }
};

int run(const Arguments& args) {
  random::seed(5);
  const auto comm = distributed::create_communicator();
  std::fprintf(stderr, "process %d is rank %d of %d\n", static_cast<int>(getpid()), comm.rank(), comm.size());
  const bool is_other = args.scenario == "model" && comm.rank() == args.rank;
  auto model = links::classifier(testing::TestMlp(is_other ? 8 : 16));
  auto optimizer = distributed::create_multi_node_optimizer(optimizers::Adam(), comm, {.shard_optimizer = args.shards});
  optimizer.setup(model);
  const auto happen_at = [&](const char* place, int64_t done) {
    if (args.place == place && done + 1 == args.at) happen(args, comm);
  };
  optimizer.add_hook([&](Optimizer& stepped) { happen_at("hook", stepped.t()); }, "Interrupted");
  iterators::SerialIterator iterator(Examples(), 12, {.shard = comm.shard()});
  updaters::StandardUpdater updater(iterator, optimizer, {.loss_func = [&](const Variable& x, const Variable& t) {
                                      happen_at("forward", optimizer.t());
                                      return model(x, t);
                                    }});
  training::Trainer trainer(updater, {args.steps, "iteration"}, args.out.empty() ? "result" : args.out);
  trainer.extend(Interrupted(args, comm), {.trigger = {1, "iteration"}});
  if (args.saves) {
    trainer.extend(distributed::multi_node_snapshot(comm, extensions::snapshot({.n_retains = 2, .autoload = true})),
                   {.trigger = {5, "iteration"}});
  }
  trainer.run();
  if (!args.out.empty()) save_values(model, args.out + "/values." + std::to_string(comm.rank()));
  std::printf("rank %d is done after %lld iterations\n", comm.rank(), static_cast<long long>(updater.iteration()));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App parser("Training of several processes, for tests");
  Arguments args;
  parser.add_option("scenario", args.scenario)->required();
  parser.add_option("--place", args.place, "where it happens: forward, hook or extension");
  parser.add_flag("--saves", args.saves, "take snapshots, and go on from the newest");
  parser.add_flag("--shards", args.shards, "divide the optimizer");
  parser.add_option("--pause", args.pause, "milliseconds after each step");
  parser.add_option("--rank", args.rank);
  parser.add_option("--at", args.at);
  parser.add_option("--steps", args.steps);
  parser.add_option("--out", args.out);
  CLI11_PARSE(parser, argc, argv);
  try {
    return run(args);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
