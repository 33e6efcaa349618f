// Search in a copy of the site on a disk: there a browser starts no worker, so that the script of
// the search runs in a hidden frame. MkDocs loads this before the theme's script (mkdocs.yml).
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "Search";
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      script.src = url;
      this.ready = new Promise((resolve) => script.addEventListener("load", resolve));
      inside.document.head.append(script);
      this.inside = inside;
    }

    async postMessage(data) {
      await this.ready;
      this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
}
