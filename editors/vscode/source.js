// Starts `fairc lsp` and connects the editor to it.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const command = workspace.getConfiguration("fairc").get("command");
  const server = { command, args: ["lsp"] };
  client = new LanguageClient("fairc", server, { documentSelector: [{ language: "fexp" }] });
  return client.start();
};

exports.deactivate = () => client?.stop();
