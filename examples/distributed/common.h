#pragma once

// What the programs of several processes have in common.

#include <cstdint>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"

inline std::string communicator_flag(Flags& flags) {
  return flags.text("--communicator", "auto", "How gradients are exchanged: auto, or one of ChainerMN's names");
}
inline bool shard_optimizer_flag(Flags& flags) {
  return flags.flag("--shard-optimizer", "Let each process keep a part of the optimizer's state");
}
inline std::string device_of_rank_flag(Flags& flags) {
  return flags.text("-d,--device,-g,--gpu", "cpu", "cpu, cuda:N, or cuda: the GPU of a process's number");
}

// The device that a rank takes by itself: each of a machine another GPU.
inline std::string device_of_rank(const std::string& device, const kusari::distributed::Communicator& comm) {
  return device == "cuda" ? "cuda:" + std::to_string(comm.intra_rank()) : device;
}

// An extension that replaces what each rank reports about its part of a batch by the means over the whole batch, so
// that the log is that of a run of one process. It comes before those that read values.
inline kusari::training::FunctionExtension mean_over_ranks(const kusari::distributed::Communicator& comm,
                                                           int64_t batchsize, std::vector<std::string> keys) {
  using namespace kusari;
  const auto own = static_cast<double>((batchsize - comm.rank() + comm.size() - 1) / comm.size());
  return training::make_extension(
      [=](training::Trainer& trainer) {
        if (comm.size() == 1) return;
        distributed::NamedNumbers sums;
        for (const std::string& key : keys) {
          if (trainer.observation().contains(key)) sums[key] = own * trainer.observation().at(key);
        }
        for (const auto& [key, sum] : comm.allreduce_obj(sums)) {
          trainer.observation().set(key, sum / static_cast<double>(batchsize));
        }
      },
      {.trigger = {1, "iteration"}, .priority = training::kPriorityEditor});
}
