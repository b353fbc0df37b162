#include "kusari/framework/training/extensions/tensorboard_report.h"

#include <cstdint>
#include <filesystem>

#include "kusari/framework/core/runtime_info.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/framework/training/extensions/report_picture.h"
#include "kusari/framework/training/extensions/sample_statistics.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/optimizers/optimizer.h"

namespace kusari::training::extensions {
namespace {

/// Preformatted text in Markdown.
std::string verbatim(const std::string& text) {
  std::string result = "    ";
  for (const char c : text) result += c == '\n' ? "\n    " : std::string(1, c);
  return result;
}

std::string table_cell(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
  return result;
}

}  // namespace

TensorBoardReport::TensorBoardReport(TensorBoardReportOptions options) : options_{std::move(options)} {}

// Not before the first call: a snapshot that is loaded automatically comes after extensions are initialized.
void TensorBoardReport::begin_file(const Trainer& trainer) {
  const int64_t step = trainer.updater().iteration();
  tensorboard::EventWriterOptions options{.flush_seconds = options_.flush_seconds};
  if (step > 1) options.first_step = step;
  const std::filesystem::path directory = std::filesystem::path(trainer.out()) / options_.directory;
  writer_ = std::make_unique<tensorboard::EventWriter>(directory.string(), options);
  has_texts_ = false;
}

void TensorBoardReport::operator()(Trainer& trainer) {
  if (writer_ == nullptr) begin_file(trainer);
  if (options_.keys.empty()) {
    summary_.add(trainer.observation());
  } else {
    for (const std::string& key : options_.keys) {
      const ObservedValue* value = trainer.observation().find(key);
      if (value != nullptr && value->is_scalar()) summary_.add(key, *value);
    }
  }
  const int64_t step = trainer.updater().iteration();
  if (trainer.is_before_training() || options_.trigger(trainer)) {
    if (!std::exchange(has_texts_, true)) write_texts(trainer);
    for (const auto& [key, mean] : summary_.compute_mean()) writer_->add_scalar(key, mean, step);
    writer_->add_scalar("epoch", trainer.updater().epoch_detail(), step);
    summary_.clear();
  }
  if (options_.histograms(trainer)) write_histograms(trainer);
  write_pictures(trainer);
}

void TensorBoardReport::write_pictures(Trainer& trainer) {
  for (const auto& summary : trainer.extensions()) {
    const auto* const source = dynamic_cast<const PictureSource*>(&trainer.get_extension(summary.name));
    if (source == nullptr || std::exchange(drawn_[summary.name], source->drawn()) == source->drawn()) continue;
    for (const ReportPicture& picture : source->pictures()) {
      writer_->add_image(summary.name + "/" + picture.title, picture.png, picture.height, picture.width,
                         trainer.updater().iteration());
    }
  }
}

void TensorBoardReport::write_texts(Trainer& trainer) {
  const int64_t step = trainer.updater().iteration();
  for (const auto& [name, optimizer] : trainer.updater().get_all_optimizers()) {
    if (optimizer->has_target()) writer_->add_text("model/" + name, verbatim(to_string(optimizer->target())), step);
  }
  writer_->add_text("environment", verbatim(runtime_info()), step);
  if (options_.configuration.empty()) return;
  std::string table = "| | |\n| --- | --- |\n";
  for (const auto& [name, value] : options_.configuration) {
    table += "| " + table_cell(name) + " | " + table_cell(value) + " |\n";
  }
  writer_->add_text("configuration", table, step);
}

void TensorBoardReport::write_histograms(Trainer& trainer) {
  const int64_t step = trainer.updater().iteration();
  for (const auto& [name, optimizer] : trainer.updater().get_all_optimizers()) {
    for (const auto& [path, parameter] : optimizer->target().namedparams(false)) {
      writer_->add_histogram(name + path + "/data", parameter->array().to_vector<double>(), step);
      writer_->add_histogram(name + path + "/grad", gradient_values(*parameter), step);
    }
  }
}

void TensorBoardReport::finalize() {
  if (writer_ != nullptr) writer_->flush();
  writer_.reset();
}

void TensorBoardReport::serialize(Serializer& serializer) {
  // A run that is resumed writes what came after the snapshot: what came before must not be lost.
  if (serializer.is_writer() && writer_ != nullptr) writer_->flush();
  if (!serializer.contains("_summary/_names")) return;  // a snapshot made without this extension
  options_.trigger.serialize(*serializer.child("_trigger"));
  options_.histograms.serialize(*serializer.child("_histograms"));
  summary_.serialize(*serializer.child("_summary"));
}

}  // namespace kusari::training::extensions
