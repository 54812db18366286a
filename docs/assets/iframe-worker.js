// Search in pages that are opened from the disk. Browsers start no worker for file: pages, so its script runs in a hidden
// frame of the page instead, and messages go both ways by hand. Pages that come from a server keep the browser's own Worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      this.frame = frame
      const inside = frame.contentWindow
      const load = address => new Promise((resolve, reject) => {
        const script = inside.document.createElement("script")
        script.src = new URL(address, location.href).href
        script.onload = resolve
        script.onerror = () => reject(new Error("could not be loaded: " + script.src))
        inside.document.body.appendChild(script)
      })
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      inside.importScripts = (...addresses) => addresses.reduce((before, address) => before.then(() => load(address)), Promise.resolve())
      this.ready = load(url).catch(error => this.dispatchEvent(new ErrorEvent("error", { error })))
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() {
      this.frame.remove()
    }
  }
}
