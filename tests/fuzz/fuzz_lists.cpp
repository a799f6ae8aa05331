// libFuzzer: what names samples and their classes: lists of files, label files, COCO's boxes.
#include "fuzz/reader_fuzzer.h"
#include "quantize/calibration/labels.h"
#include "quantize/calibration/sample_files.h"
#include "tasks/detection/coco_labels.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ec::fuzz::MemoryBound bound(size);
  const std::string_view text = ec::fuzz::text_of(data, size);
  if (text.find_first_not_of(" \t\r\n") != text.npos &&
      text[text.find_first_not_of(" \t\r\n")] == '{') {
    const auto coco = ec::tasks::detection::CocoLabels::parse(text);
    if (!coco.ok()) return 0;
    (void)coco->find("val2017/000000000139.jpg");
    for (size_t i = 0; i < coco->categories().size(); ++i)
      for (const int32_t classes : {0, 2, 80, 90, 91}) (void)coco->class_of(i, classes);
    return 0;
  }
  (void)ec::quantize::parse_list(text, "folder/list.txt", [](const auto&) {
    return ec::Status();
  }).ok();
  const auto labels = ec::quantize::parse_label_file(ec::fuzz::blob_of(data, size), "labels.txt");
  if (labels.ok()) (void)ec::quantize::labels_of_lines(labels->lines, "labels.txt").ok();
  return 0;
}
