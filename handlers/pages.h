// The pages for people, from the binary: the reference at /docs and the console at /ui.
#pragma once

struct request;

// The page itself.
void page_docs(struct request *request);
void page_ui(struct request *request);

// A file that the page is made of; its name is parameter 0.
void page_docs_file(struct request *request);
void page_ui_file(struct request *request);
