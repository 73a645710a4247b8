// Reports to the page that shows the card form how high the form is and whether it is in use. It sends nothing that is typed.
const { host, state } = document.currentScript.dataset
let now = state

function send() {
  const height = Math.ceil(document.documentElement.getBoundingClientRect().height)
  // The browser delivers it to this origin alone.
  parent.postMessage({ type: 'payweave.card-form', version: 1, height, state: now }, host)
}

const form = document.querySelector('form')
if (form) {
  const fields = [...form.querySelectorAll('input:not([type="hidden"])')]
  form.addEventListener('input', () => {
    now = fields.some(({ value }) => value !== '') ? 'editing' : state
    send()
  })
  form.addEventListener('submit', () => {
    now = 'sending'
    send()
  })
  // A browser that goes back shows the form with what was typed.
  if (fields.some(({ value }) => value !== '')) now = 'editing'
}
new ResizeObserver(send).observe(document.documentElement)
addEventListener('pageshow', send)
