#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"

// Who prepares the examples of batches: this thread when they are asked for, or workers, ahead of that.
enum class Loader { serial, thread, process };

inline const std::map<std::string, Loader> kLoaders{
    {"process", Loader::process}, {"serial", Loader::serial}, {"thread", Loader::thread}};

struct LoaderFlags {
  std::string loader;
  int64_t jobs = 0;
};

// The flags --loader and --loaderjob.
inline LoaderFlags loader_flags(Flags& flags, const std::string& otherwise = "thread") {
  LoaderFlags loader;
  loader.loader =
      flags.text("--loader", otherwise,
                 "What prepares images: thread or process, ahead of their use, or serial, when they are used",
                 Flags::key_of(kLoaders));
  loader.jobs = flags.number("-j,--loaderjob", 0, "Number of threads or processes that prepare images (0: all cores)",
                             Flags::not_negative());
  return loader;
}

// The same examples in the same order from each of them.
inline std::shared_ptr<kusari::iterators::Iterator> make_iterator(Loader loader, int64_t jobs,
                                                                  const kusari::datasets::DatasetRef& dataset,
                                                                  int64_t batch_size,
                                                                  const kusari::iterators::OrderOptions& order = {}) {
  using namespace kusari::iterators;
  if (loader == Loader::serial) return std::make_shared<SerialIterator>(dataset, batch_size, order);
  if (loader == Loader::thread) {
    return std::make_shared<MultithreadIterator>(
        dataset, batch_size,
        MultithreadIteratorOptions{
            .repeat = order.repeat, .shuffle = order.shuffle, .n_threads = jobs, .shard = order.shard});
  }
  return std::make_shared<MultiprocessIterator>(
      dataset, batch_size,
      MultiprocessIteratorOptions{
          .repeat = order.repeat, .shuffle = order.shuffle, .n_processes = jobs, .shard = order.shard});
}

inline std::shared_ptr<kusari::iterators::Iterator> make_iterator(const LoaderFlags& flags,
                                                                  const kusari::datasets::DatasetRef& dataset,
                                                                  int64_t batch_size,
                                                                  const kusari::iterators::OrderOptions& order = {}) {
  return make_iterator(kLoaders.at(flags.loader), flags.jobs, dataset, batch_size, order);
}
