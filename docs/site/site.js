// What pages of the documentation do with a script: search, and one choice of the language on all pages. They are read without it.
const here = new URL('.', import.meta.url)

// Links to operations from before the pages had an address of their own.
if (location.hash.startsWith('#/')) location.replace(new URL(`try-it${location.hash}`, here))

const remembered = () => {
  try {
    return localStorage.getItem('language')
  } catch {
    return null
  }
}

const choose = (language) => {
  for (const input of document.querySelectorAll('.samples input')) {
    if (input.value === language) input.checked = true
  }
}

document.addEventListener('change', ({ target }) => {
  if (!target.matches('.samples input')) return
  const before = target.getBoundingClientRect().top
  choose(target.value)
  // What is above may have become longer or shorter.
  scrollBy({ top: target.getBoundingClientRect().top - before, behavior: 'instant' })
  try {
    localStorage.setItem('language', target.value)
  } catch {
    // The choice then holds for this page.
  }
})
choose(remembered())

/** Names such as payment_details_id are found as they are and by their parts. */
const tokenize = (text) =>
  text
    .split(/[^\p{L}\p{N}_]+/u)
    .flatMap((word) => (word.includes('_') ? [word, ...word.split('_')] : [word]))
    .filter((word) => word !== '')

let index
/** Loads the library and what it looks through, once. */
const load = async () => {
  const [{ default: MiniSearch }, response] = await Promise.all([
    import('./minisearch.js'),
    fetch(new URL('search.json', here)),
  ])
  const entries = await response.json()
  const made = new MiniSearch({
    fields: ['title', 'page', 'text'],
    storeFields: ['title', 'page', 'text'],
    tokenize,
    searchOptions: { boost: { title: 4, page: 2 }, prefix: true, fuzzy: 0.2, combineWith: 'AND' },
  })
  made.addAll(entries)
  return made
}

const box = document.querySelector('#search')
const input = Object.assign(document.createElement('input'), {
  type: 'search',
  placeholder: 'Search',
  autocomplete: 'off',
})
input.setAttribute('aria-label', 'Search the documentation')
const list = document.createElement('ol')
list.hidden = true
list.setAttribute('aria-label', 'Results')
const status = document.createElement('p')
status.className = 'skip'
status.setAttribute('role', 'status')
box.append(input, list, status)
box.hidden = false

/** A piece of a text around the first word that was found. */
const excerpt = ({ text, terms }) => {
  const at = Math.max(0, text.toLowerCase().indexOf(terms[0] ?? '') - 40)
  return `${at > 0 ? '…' : ''}${text.slice(at, at + 140)}`
}

const show = (found) => {
  list.replaceChildren(
    ...found.map((entry) => {
      const link = document.createElement('a')
      link.href = new URL(entry.id, here).href
      const more = document.createElement('small')
      more.textContent = `${entry.page} · ${excerpt(entry)}`
      link.append(entry.title, more)
      const item = document.createElement('li')
      item.append(link)
      return item
    }),
  )
  list.hidden = found.length === 0
  status.textContent = `${found.length} results`
}

input.addEventListener('focus', () => {
  index ??= load()
})
const find = async () => {
  index ??= load()
  const made = await index
  show(input.value.trim() === '' ? [] : made.search(input.value).slice(0, 12))
}
input.addEventListener('input', () => void find())
box.addEventListener('keydown', (event) => {
  const links = [...list.querySelectorAll('a')]
  const at = links.indexOf(document.activeElement)
  if (event.key === 'Escape') {
    show([])
    input.focus()
  } else if (event.key === 'ArrowDown') (links[at + 1] ?? links[0])?.focus()
  else if (event.key === 'ArrowUp') (links[at - 1] ?? input).focus()
  else if (event.key === 'Enter' && at < 0) links[0]?.click()
  else return
  event.preventDefault()
})
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || document.activeElement.matches('input, textarea')) return
  event.preventDefault()
  input.focus()
})
